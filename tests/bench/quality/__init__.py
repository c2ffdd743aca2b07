"""How well lanes and their peers rank documents that were held out, corpus by corpus."""
