"""The experiments of Crammer and Singer (2002): online ranking of topics (MMP)."""
