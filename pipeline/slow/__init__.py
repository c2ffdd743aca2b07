"""Plain-Python twins of the compiled kernels; the tests compare both."""
