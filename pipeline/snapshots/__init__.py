"""Snapshots of the engine's state: taken, written, restored and inspected."""
