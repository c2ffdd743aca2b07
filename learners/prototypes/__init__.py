"""Learners that keep one weight vector (prototype) per topic."""
