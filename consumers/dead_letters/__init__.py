"""Looks at the dead letters of a stream, and sends corrected ones back."""
