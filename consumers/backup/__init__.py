"""Backups of streams: everything that is needed to go on when the log is lost."""
