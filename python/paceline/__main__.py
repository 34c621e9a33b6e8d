"""``python -m paceline``: the same as the command ``paceline``."""

import sys

from paceline.cli import main

if __name__ == "__main__":
    sys.exit(main())
