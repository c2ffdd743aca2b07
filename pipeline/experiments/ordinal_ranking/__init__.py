"""The experiments of Crammer and Singer (2001): online learning of ranks (PRank)."""
