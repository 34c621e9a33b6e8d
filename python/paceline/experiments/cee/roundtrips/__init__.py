"""Round-trip times that move, that are long, and that differ from flow to flow."""
