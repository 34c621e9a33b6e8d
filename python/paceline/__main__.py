"""The command ``paceline``, and ``python -m paceline``: light, so that an early Ctrl-C finds somebody to tell it."""

import os
import signal
import sys

from paceline.errors import JSON_FLAG, ExitCode, guard
from paceline.interrupt import REQUESTS, raise_lost_interrupts_again, take_all_for_ctrl_c


def main() -> int:
    """Runs the command line in a process of its own and returns its exit code."""
    take_all_for_ctrl_c()
    raise_lost_interrupts_again()

    def command() -> int:
        from paceline.cli import main as command_line

        return command_line()

    code = guard(command, as_json=JSON_FLAG in sys.argv)
    if code in (ExitCode.OK, ExitCode.INTERRUPTED):
        # All is done and told: a signal while Python tidies up would only change the exit code.
        for number in REQUESTS:
            signal.signal(number, signal.SIG_IGN)
    if code == ExitCode.INTERRUPTED:
        # Python would tidy up beneath threads that may still be in the engine, which aborts; and it remembers a
        # KeyboardInterrupt that ended text it executed, as a dataclass is made by, and would end by SIGINT instead.
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
