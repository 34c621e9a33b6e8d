"""Commands before a run: `paceline init`, `list`, `explain` and `check`."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from helpers.processes import run_module
from paceline import _native


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("switch", ("switch.buffer", "section switch.pfc", "Packet buffer")),
        ("switch.pfc", ("headroom", "resume_offset")),
        ("records.series", ("interval", "ports")),
        ("failures.link", ("failures.*.link", "The nodes at its ends")),
        ("failures[].link", ("failures.*.link",)),
        ("workloads.hosts", ("workloads.*.hosts",)),
        ("load", ("workloads[].load", "value = 0.3")),
        ("failures", ('kind = "random"', "repair")),
        ("schemes.cc", ("schemes.*.cc", "express_pass")),
        ("workloads.mode", ('kind = "incast"', 'kind = "rpc"')),
        ("schemes", ('cc = "dcqcn"',)),
        ("framing", ("payload (by preset)",)),
        # What `paceline list` names, and what a new controller's page says to try.
        ("hpcc", ('cc = "hpcc"', "fast_reaction = true")),
        ("schemes.dcqcn", ("alpha_interval (by preset)",)),
        ("topology.xgft", ("children = [8, 8]",)),
        ("poisson", ('kind = "poisson"', 'kind = "incast", mode = "poisson"')),
        # A field of TCP, a section of switches.
        ("ecn", ("host.tcp.ecn", "switch.ecn", "k_max")),
        ("hpcc.eta", ("schemes.*.eta", 'cc = "hpcc"')),
        # As it is called in Python.
        ("class_", ("workloads.*.class",)),
    ],
)
def test_explain_knows_sections_and_entries_of_lists(paceline, asked, told):
    """`explain switch` said "no such field; allowed: `switches`?"."""
    outcome = paceline("explain", asked)
    assert (outcome.code, outcome.err) == (0, "")
    assert all(text in outcome.out for text in told)


def test_explain_finds_settings_by_a_word_of_their_explanation(paceline):
    """Who asked for ECMP or the MTU, which are called otherwise here, was told that there is no such field."""
    for asked, told in (
        ("ECMP", "routing.choice"),
        ("mtu", "framing.payload"),
        ("rtt", "host.base_rtt"),
        ("spray", "routing.choice"),
    ):
        outcome = paceline("explain", asked)
        assert outcome.code == 0
        assert f"`{asked}`" in outcome.out.splitlines()[0]
        assert any(line.split()[0] == told for line in outcome.out.splitlines()[1:])
    # What is nearly a name is taken for that, not for a word.
    assert "k_max" in paceline("explain", "switch.ecn.kmax").err


def test_explain_lists_sections_beside_fields_of_their_name(paceline):
    """`explain ecn` told of TCP's switch alone, and nobody found where switches mark."""
    said = paceline("explain", "ecn").out
    assert said.startswith("host.tcp.ecn\n")
    assert "\nswitch.ecn: ECN marking" in said
    assert "k_max =" in said
    assert "switch.ecn: " not in paceline("explain", "host.tcp.ecn").out


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("spray", "routing.choice"),
        ("bdp", "schemes.NAME.window"),
        ("ideal_sender_ps", "ideal_sender_ps in flows.csv"),
        ("ideal", "ideal_hpcc_ps in flows.csv"),
        ("slowdown", "Results.slowdown()"),
        ("goodput", "fct_receiver_ps"),
        ("runtime_ps", "mpi[].runtime_ps in summary.json"),
        ("acked_bytes", "series.csv"),
    ],
)
def test_explain_knows_values_of_settings_and_columns_of_results(paceline, asked, told):
    """They were "no such field", without a word on where they belong."""
    outcome = paceline("explain", asked)
    assert outcome.code == 0
    assert outcome.out.startswith(f"No setting is called `{asked}`.\n")
    assert told in outcome.out


def test_explain_says_all_of_a_section_that_is_asked_for(paceline):
    """That DCTCP wants another marking than the default's stood in `paceline list` alone."""
    assert "wants switches to mark in one step" in " ".join(paceline("explain", "dctcp").out.split())
    assert "It needs `switch.ecn`" in " ".join(paceline("explain", "schemes.dcqcn").out.split())


def test_explain_takes_a_field_behind_the_word_of_its_scheme(paceline):
    """`hpcc.eta`, as people write it, failed, and `eta` tells of three schemes."""
    said = paceline("explain", "hpcc.eta").out
    assert [line for line in said.splitlines() if line[0] != " "] == ['schemes.*.eta (with cc = "hpcc")']
    assert 'kind = "fat_tree"' in paceline("explain", "topology.fat_tree.k").out
    assert "value = 0.3" in paceline("explain", "poisson.load").out
    assert paceline("explain", "star.k").code == 2, "a star has none"


def test_explain_takes_what_python_calls_class(paceline):
    for asked, field in (("class_", "class"), ("workloads.0.class_", "workloads.0.class")):
        assert paceline("explain", asked) == paceline("explain", field)
        assert "Traffic class" in paceline("explain", asked).out


def test_explain_still_refuses_nonsense(paceline):
    for nonsense in ("nonsense", "switch.nonsense", "switch.hpcc", "", "*", "_", "hpcc.nonsense"):
        outcome = paceline("explain", nonsense)
        assert outcome.code == 2
        assert "docs/results.md" not in outcome.err
    assert "a column of docs/results.md, such as `ideal_sender_ps`" in paceline("explain", "ideal_sendr_ps").err


def test_a_template_of_nearly_the_name_is_named(paceline):
    """`paceline init incats` listed all of them, and `paceline explain incats` said nothing of it."""
    assert 'no such template, did you mean "incast"?; allowed: quickstart' in paceline("init", "incats").err
    assert "did you mean" not in paceline("init", "xyzzy").err
    assert "did you mean `incast`?" in paceline("explain", "incats").err
    assert "did you mean `websearch`?" in paceline("explain", "websaerch").err
    assert "`paceline init quickstart` writes it" in " ".join(paceline("explain", "quickstart").out.split())


@pytest.mark.parametrize(
    ("given", "meant"),
    [("topology.host_rate=100Gb", "100Gbps"), ("run.warmup=10usec", "10us"), ("switch.buffer=2mb", "2MB")],
)
def test_a_unit_of_other_programs_is_understood(paceline, given, meant):
    Path("s.toml").write_text(
        '[topology]\nkind = "star"\n[schemes.a]\ncc = "hpcc"\n[[workloads]]\nkind = "permutation"\nsizes = "1KB"\n'
    )
    assert f'did you mean "{meant}"?; allowed: a' in paceline("check", "s.toml", "--set", given).err


GRAPH = """
[topology]
kind = "graph"
hosts = ["h0", "h1"]
switches = ["a0"]
links = [{ a = "h0", b = "a0" }, { a = "h1", b = "a0", rate = "25Gbps" }]
[schemes.none]
cc = "none"
[[workloads]]
kind = "permutation"
sizes = "1MB"
"""


def test_check_tells_the_ports_that_settings_ask_for(paceline, tmp_path):
    """`records.series.ports` takes `node:port`, and nothing said which port leads where."""
    (tmp_path / "g.toml").write_text(GRAPH)
    outcome = paceline("check", "g.toml", "--ports")
    assert outcome.code == 0
    assert re.search(r"^2:1 +a0 +1 h1 +25 Gb/s +1 µs$", outcome.out, re.MULTILINE)
    found = json.loads(paceline("check", "g.toml", "--ports", "--json").out)["ports"]
    assert [p["port"] for p in found] == ["0:0", "1:0", "2:0", "2:1"]
    assert paceline("run", "g.toml", "-q", "--set", f"records.series.ports=[{found[-1]['port']!r}]").code == 0
    sizes = json.loads(paceline("check", "g.toml", "--json").out)
    assert sizes["network"] == {"hosts": 2, "switches": 1, "links": 2}


def test_the_ports_of_a_strict_scenario_are_told_too(paceline, tmp_path):
    """It was refused, as nothing is measured in the picosecond that the engine runs to tell them."""
    (tmp_path / "s.toml").write_text(_native.template("incast"))
    strict = ("--set", "run.strict=true", "--set", "run.warmup=1us")
    assert paceline("check", "s.toml", *strict).code == 0
    outcome = paceline("check", "s.toml", *strict, "--ports")
    assert (outcome.code, outcome.out) == (0, paceline("check", "s.toml", "--ports").out)


def test_check_sizes_up_a_run_and_warns_beside_it(paceline):
    paceline("init", "quickstart")
    outcome = paceline(
        "check", "quickstart.toml", "--set", "switch.ecn.k_max='2GB'", "--set", "schemes.hpcc={cc='dcqcn'}"
    )
    assert outcome.code == 0
    for said in (
        "32 hosts, 6 switches, 40 links",
        "328, 600 MB of payload",
        "about 2.09 million of",
        "windowed",
        "lookahead",
        " s ",
        "MiB",
    ):
        assert said in outcome.out
    assert "warning: switch.ecn.k_max" in outcome.err
    resolved = tomllib.loads(paceline("check", "quickstart.toml", "--resolved").out)
    assert resolved["switch"]["pfc"]["alpha"] == 0.125
    assert json.loads(paceline("check", "quickstart.toml", "--json").out)["network"] == {
        "hosts": 32,
        "switches": 6,
        "links": 40,
    }
    assert not Path("results").exists()


def test_check_tells_of_threads_where_they_help(paceline):
    """Nobody reads all options before a run of minutes; a short run, or one event by event, gains nothing."""
    paceline("init", "hpcc-websearch")

    def told(*more: str) -> bool:
        return "--threads may shorten it" in paceline("check", "hpcc-websearch.toml", *more).out

    assert told()
    assert not told("--set", "workloads.0.duration=100us")
    assert not told("--set", "run.engine=sequential")


@pytest.mark.parametrize(
    "size", ["kind = 'star'", "kind = 'leaf_spine'", "kind = 'hpcc_fat320'", "kind = 'fat_tree'\nk = 16"]
)
def test_the_estimate_of_memory_is_within_a_third(tmp_path, size):
    """In processes of their own: a peak never falls."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f"[topology]\n{size}\n[schemes.hpcc]\ncc = 'hpcc'\n"
        "[[workloads]]\nkind = 'poisson'\nduration = '100us'\nload = {value = 0.5}\n"
    )
    run = ("-m", "paceline", "run", str(scenario), "--out", str(tmp_path / "out"), "-q")
    assert run_module(*run).returncode == 0
    measured = json.loads((tmp_path / "out/summary.json").read_text())["machine"]["peak_rss_mib"]
    checked = run_module("-m", "paceline", "check", str(scenario), "--json")
    assert json.loads(checked.stdout)["memory_mib"] == pytest.approx(measured, rel=0.3)


def test_init_writes_a_template_and_replaces_nothing_unasked(paceline, monkeypatch):
    monkeypatch.setattr(_native, "template", lambda name: f"# {name}\n")
    assert paceline("init", "incast").code == 0
    path = Path("incast.toml")
    assert path.read_text() == "# incast\n"
    path.write_text("mine")
    outcome = paceline("init", "incast")
    assert outcome.code == 2
    assert outcome.err.startswith("error: incast.toml: is there already")
    assert "--force" in outcome.err
    assert path.read_text() == "mine"
    assert paceline("init", "incast", "--force").code == 0
    assert path.read_text() == "# incast\n"


def test_list_names_everything_with_its_parameters(paceline, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    text = paceline("list").out
    catalogue = json.loads(paceline("list", "--json").out)
    assert max(map(len, text.splitlines())) <= 90
    for section in ("topologies", "workloads", "schemes"):
        for entry in catalogue[section]:
            assert f"\n  {entry['name']}: " in text
            assert all(p["name"] in text for p in entry["parameters"])
    assert "eta = 0.95" in text
    # Where presets were named, it was not said what they are.
    assert 'framing.preset = "ethernet": payload = "1460B", header = "58B"' in text
    presets = {(p["setting"], p["name"]): p for p in catalogue["presets"]}
    assert presets["framing.preset", "hpcc"]["default"]
    assert presets["schemes.*.preset", "paper"]["values"]["alpha_interval"] == '"50us"'
    assert all(name in text for name in catalogue["distributions"])


def test_explain_tells_default_range_and_source(paceline):
    outcome = paceline("explain", "schemes.hpcc.eta")
    assert outcome.code == 0
    for said in ("Target utilisation", "default: 0.95", "above 0, at most 1", "HPCC, sec. 5.1"):
        assert said in outcome.out
