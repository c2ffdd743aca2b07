"""The engine: blocks in, rankings and learning curves out."""
