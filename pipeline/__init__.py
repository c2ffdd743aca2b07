"""From text events to topic rankings and learning curves, in one process."""
