"""Python in a process of its own."""

import subprocess
import sys


def run_module(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)
