"""The log: blocks of tokenized events, their records, and how they are written and read."""
