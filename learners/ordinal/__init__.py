"""Learners of ordinal ranks: PRank, Widrow-Hoff and the multiclass perceptron."""
