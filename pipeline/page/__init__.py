"""The live page: a run shown in a browser while it goes on."""
