"""Ranking documents with a model that stays as it is."""
