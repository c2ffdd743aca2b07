"""Shards of a lane as workers: score exchange and changes of the number of shards."""
