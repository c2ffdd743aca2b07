"""Models: snapshots of a replay in a file, from which a run goes on or documents are ranked."""
