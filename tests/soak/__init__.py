"""A soak test: a cluster, workers and a load, while faults that a seed draws happen to them.

`python -m tests.soak --help` says how to run it. An independent checker judges what came out.
"""
