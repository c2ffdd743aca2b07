"""Everything that comes in: document events, late labels, formats and dead letters."""
