"""How the help of a command names its arguments."""

import re
from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command whose help names arguments as manuals do: ``DIR...``, not ``{DIR}...`` and ``DIR <list[Path]>``."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the line of usage."""
        return [re.sub(r"^\{(.*)\}", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options with what they mean."""
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record[0], _plainly(record[1])
            if parameter.param_type_name == "argument":
                found["Arguments"].append((re.sub(r" <.*>$", "", name), text))
            else:
                found["Options"].append((name, text))
        for heading, records in found.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _plainly(text: str) -> str:
    """What is in the brackets at the end, in words: a default that is none without another pair, a range without x."""
    text = re.sub(r"default: \((.*)\)(?=[;\]])", r"default: \1", text)
    text = re.sub(r"\bx>=(\S+)(?=[;\]])", r"at least \1", text)
    return re.sub(r"(\S+)<=x<=(\S+)(?=[;\]])", r"\1 to \2", text)
