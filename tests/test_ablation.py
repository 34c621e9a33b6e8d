"""``paceline sweep --ablate``: what each setting of a scenario brings."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from paceline.sweeps import ablation

ROOT = Path(__file__).resolve().parents[1]

SCENARIO = """
name = "s"
[topology]
kind = "star"
hosts = 5
[switch]
buffer = "32MiB"
[switch.pfc]
alpha = 0.25
[switch.ecn]
k_min = "50KB"
k_max = "50KB"
[schemes.d]
cc = "dctcp"
min_rate = "500Mbps"
[[workloads]]
kind = "incast"
senders = 4
receiver = 0
sizes = "100KB"
"""


def rows_of(folder):
    with (folder / "results/s-sweep/sweep.csv").open(newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def test_settings_that_change_nothing_are_told_from_those_that_do(paceline, tmp_path):
    """No run by itself knows of PFC's alpha or of a floor of rates that they moved nothing."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    outcome = paceline("sweep", "s.toml", "--ablate", "--seeds", "2")
    assert "made no difference: switch.pfc.alpha, schemes.d.min_rate (equal rows with and without)\n" in outcome.out
    rows = rows_of(tmp_path)
    # A buffer that is as by default anyway needs no run.
    assert list(rows) == [
        "as given",
        "switch.pfc.alpha at 0.125",
        "switch.ecn.k_max at 1600KB",
        "schemes.d.min_rate at 1Gbps",
        "workloads.0.senders at 16",
        "workloads.0.receiver at random",
        "workloads.0.sizes at 500KB",
    ]
    assert int(rows["switch.ecn.k_max at 1600KB"]["marks"]) < int(rows["as given"]["marks"])


def test_a_setting_that_needs_another_is_named(paceline, tmp_path):
    """Thresholds whose default is above the other's are refused: that must not end the whole sweep."""
    (tmp_path / "s.toml").write_text(SCENARIO.replace("50KB", "2MB"))
    outcome = paceline("sweep", "s.toml", "--ablate")
    assert outcome.code == 0
    assert "not left out: switch.ecn.k_max: not allowed as by default" in outcome.out
    assert "switch.ecn.k_min at 400KB" in rows_of(tmp_path)


def test_what_is_set_by_hand_stays(paceline, tmp_path):
    """A case that put the default in its place would answer another question than the one typed."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    paceline("sweep", "s.toml", "--ablate", "--set", "switch.ecn.k_max=60KB")
    rows = rows_of(tmp_path)
    assert "switch.ecn.k_max at 1600KB" not in rows
    assert rows["as given"]["marks"] != "0"


def test_an_ablation_of_nothing_is_refused(paceline, tmp_path):
    """One row that compares with nothing would look like an answer."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    for more in (["--vary", "workloads.0.senders=2,4"], ["--case", "a: switch.pfc.alpha=1"]):
        outcome = paceline("sweep", "s.toml", "--ablate", *more)
        assert outcome.code == 2
        assert "without --vary and --case" in outcome.err
    plain = "[topology]\nkind = 'star'\n[schemes.d]\ncc = 'dctcp'\n[[workloads]]\nkind = 'permutation'\n"
    (tmp_path / "plain.toml").write_text(plain)
    outcome = paceline("sweep", "plain.toml", "--ablate")
    assert outcome.code == 2
    assert "no setting to leave out" in outcome.err
    assert not (tmp_path / "results").exists()


def test_the_ablation_of_the_readme_has_settings_to_leave_out(paceline, tmp_path):
    """The README left settings out of the quickstart, which has none but of its network and its load: an error."""
    scenario = re.search(r"^paceline sweep (\S+) --ablate ", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    paceline("init", "quickstart")
    path = ROOT / scenario if (ROOT / scenario).exists() else scenario
    outcome = paceline("sweep", str(path), "--ablate", "--check")
    assert outcome.code == 0, outcome.err


def test_rows_of_traffic_are_no_settings(tmp_path):
    """Each start of a table of flows would be a case of its own."""
    rows = '{ src = 1, dst = 0, bytes = "1KB", start = "5us" }, { src = 2, dst = 0, bytes = "1KB", start = "7us" }'
    traffic = f'[[workloads]]\nkind = "flows"\nrows = [{rows}]\n'
    (tmp_path / "s.toml").write_text(SCENARIO.partition("[[workloads]]")[0] + traffic)
    tried = ablation.ablation(tmp_path / "s.toml")
    assert [case.partition(" ")[0] for case in tried.cases[1:]] == [
        "switch.pfc.alpha",
        "switch.ecn.k_max",
        "schemes.d.min_rate",
    ]
    assert [line.partition(":")[0] for line in tried.left_out] == ["switch.ecn.k_min"]
