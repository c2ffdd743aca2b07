"""The error of backups."""

from __future__ import annotations


class BackupError(Exception):
    """A stream cannot be backed up or restored; the message says why and what to do."""
