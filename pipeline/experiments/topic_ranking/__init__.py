"""The experiments of Crammer and Singer (2002): topics, ranked online."""
