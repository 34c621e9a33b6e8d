"""Models that the engine is checked against: written from papers and standards, sharing nothing with it."""
