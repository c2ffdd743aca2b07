"""Serving a model over HTTP: rankings, explanations, and what the model knows."""
