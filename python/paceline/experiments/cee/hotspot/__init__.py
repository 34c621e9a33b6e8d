"""Hot spots: flows of 2 to 32 hosts to one, at one switch or from several racks."""
