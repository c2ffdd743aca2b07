"""The experiments of Yue, Finley, Radlinski and Joachims (2007): ranking documents of queries."""
