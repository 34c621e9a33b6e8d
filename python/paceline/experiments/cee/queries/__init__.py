"""Commercial traffic: queries over background flows, with and without UDP."""
