"""The live page: a run as somebody with a browser follows it."""
