"""The experiments of Crammer and Singer (2001): ranks, learned online."""
