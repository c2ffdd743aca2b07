"""The curves of a run on the time axis of its corpus, for other programs to draw."""
