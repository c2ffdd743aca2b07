"""Files and arrays: the container format, output files, arrays of byte strings."""
