"""The log of rounds: blocks of tokenized events, their records, and how they are made."""
