"""Copies of snapshots in an object store: they survive the machine that took them."""
