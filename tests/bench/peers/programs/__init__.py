"""One program per peer, each run as a process of its own.

They run in the environment of the peers (`.venv-bench`), so they import nothing of Wirerank. Only
the programs `wirerank` and `wirerank_kafka` run in the environment of the project.
"""
