"""Transports of all families side by side, on one network; see docs/comparison.md."""
