"""Paceline: a packet-level simulator of congestion control in datacenter networks."""

from paceline._native import InputError, git_revision, version

__all__ = ["InputError", "__version__", "git_revision"]

__version__ = version()
