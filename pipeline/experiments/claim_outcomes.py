"""What became of a claim of a paper, as the line on it begins."""

HELD, FAILED, OPEN, TIED = "HELD", "DID NOT HOLD", "NOT SETTLED", "LEVEL"
