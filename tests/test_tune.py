"""The example that tunes settings with Optuna, which users install themselves (`make extras`)."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("optuna")

EXAMPLE = Path(__file__).parents[1] / "examples/tune.py"


def test_tuning_finds_no_worse_than_the_defaults_and_goes_on_where_it_was(tmp_path, monkeypatch, capfd):
    """Fewer rounds than in the example. The second time all runs are there, and the same settings are found."""
    short = EXAMPLE.read_text(encoding="utf-8").replace("ROUNDS, AT_ONCE = 10, 4", "ROUNDS, AT_ONCE = 1, 2")
    assert "= 1, 2" in short
    (tmp_path / "tune.py").write_text(short, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    values = runpy.run_path("tune.py")
    kept = sorted(tmp_path.glob("results/cache/*/*/summary.json"))
    again = runpy.run_path("tune.py")
    assert values["study"].trials[0].params == values["DEFAULTS"]
    assert values["study"].best_value <= values["study"].trials[0].value
    assert again["study"].best_params == values["study"].best_params
    assert kept
    assert sorted(tmp_path.glob("results/cache/*/*/summary.json")) == kept
    assert "from 100 KB on" in capfd.readouterr().out
