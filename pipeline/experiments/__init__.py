"""Experiments of the papers, repeated with their protocols: our numbers beside the papers'."""
