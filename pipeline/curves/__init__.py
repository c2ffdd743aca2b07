"""Learning curves, and confidence intervals for the difference between two lanes."""
