"""Plain-Python twins of the learners; the tests compare both."""
