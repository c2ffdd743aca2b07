"""Files and arrays: the checked container format, output files, arrays of byte strings."""
