"""The engine: blocks in, rankings and curves out."""
