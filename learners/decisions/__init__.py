"""Decisions: the topics that a lane would assign to a document, and how likely each of them is."""
