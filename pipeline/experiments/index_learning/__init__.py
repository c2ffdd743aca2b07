"""The experiments of Madani, Connor and Greiner (2010): learning an index from words to classes."""
