"""Experiments of the papers, each a command: the same protocol, ours beside the paper's numbers."""
