"""The experiments of Madani, Connor and Greiner (2010): an index from words to classes."""
