"""The outcomes of checking a paper's claim; the line about a claim begins with one of them."""

HELD, FAILED, OPEN, TIED = "HELD", "DID NOT HOLD", "NOT SETTLED", "LEVEL"
