"""What scenarios are made of, for people: what ``paceline explain``, ``list`` and ``check`` tell."""
