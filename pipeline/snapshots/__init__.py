"""Everything that an engine is, in a file: written, read, and looked into."""
