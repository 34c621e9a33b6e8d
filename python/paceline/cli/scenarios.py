"""``paceline check``, ``explain``, ``init`` and ``list``: what scenarios are made of."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from paceline import _native, files
from paceline.cli.endings import command, print_json
from paceline.cli.options import AsJson, JsonErrors, Overrides, ScenarioFile, typed
from paceline.errors import plain


def check(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Prints the scenario, all defaults filled in.")] = False,
    ports: Annotated[
        bool, typer.Option("--ports", help="Prints every port with its node, number and peer, as settings name them.")
    ] = False,
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Validates a scenario and sizes up a run of it.

    Network, flows, engine, run time and memory. Nothing is run.

    \b
    Examples:
      paceline check incast.toml
      paceline check incast.toml --set workloads.0.senders=8 --resolved
      paceline check incast.toml --ports
    """
    from paceline.explain.catalogue import check_lines
    from paceline.run import check as check_scenario

    if ports and resolved:
        raise _native.input_error("not together with --resolved", field="--ports", allowed="one of the two")
    found = check_scenario(scenario, overrides or ())
    if ports:
        from paceline.explain.ports import port_table, ports_of

        listed = ports_of(scenario, overrides or ())
        if as_json:
            print_json({"ports": [vars(p) for p in listed]})
        else:
            print(port_table(listed).plain(), end="")
        return
    if as_json:
        print_json(found)
        return
    for warning in found["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print(found["resolved"].rstrip("\n") if resolved else typed("\n".join(check_lines(found))))


def explain(
    field: Annotated[
        str,
        typer.Argument(
            metavar="FIELD",
            show_default=False,
            help="A field, its last part, a section, a kind or a value; or a column of results.",
        ),
    ],
    _json_errors: JsonErrors = False,
) -> None:
    """Tells what a field of scenarios means.

    Default, unit, range and source; of a section, or of a scheme, a topology
    or a workload by its word, what settings it has. A word that is the value of
    a setting brings that setting, a column of results what it holds.

    \b
    Examples:
      paceline explain switch.ecn.k_max
      paceline explain eta
      paceline explain switch.pfc
      paceline explain hpcc
      paceline explain hpcc.eta
      paceline explain ideal_sender_ps
    """
    from paceline.explain.catalogue import folded, width
    from paceline.explain.settings import explain as explain_field

    print(folded(typed(explain_field(field)).rstrip("\n"), width()))


def init(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Template; see `paceline list`.")],
    force: Annotated[bool, typer.Option("--force", help="Replaces NAME.toml if there is one.")] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a commented starter scenario to NAME.toml.

    \b
    Example:
      paceline init incast && paceline run incast.toml
    """
    text = _native.template(name)
    path = Path(f"{name}.toml")
    files.check_new(path, force=force)
    files.write(path, text)
    print(f"{plain(str(path))} written; `{command('run', path)}` runs it")


def list_(as_json: AsJson = False, _json_errors: JsonErrors = False) -> None:
    """Lists what scenarios can be made of.

    Topologies, workloads, congestion controls, presets, flow sizes, templates.

    \b
    Examples:
      paceline list
      paceline list --json
    """
    from paceline.explain.catalogue import lines, presets, width

    catalogue = _native.catalogue() | {"presets": presets(_native.settings())}
    if as_json:
        print_json(catalogue)
        return
    print("\n".join(lines(catalogue, width())))
