"""The pictures in README and docs come from a recipe (``make pictures``) that goes with the code."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from paceline import plot
from paceline.experiments import experiments

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_every_picture_has_a_recipe_and_is_shown(recipe: ModuleType) -> None:
    """One without would stay as it is when figures change: the docs then show what nobody gets."""
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for text in texts for name in re.findall(r"\]\((?:docs/)?images/([^)]+)\.png\)", text.read_text())}
    there = {path.stem for path in (ROOT / "docs" / "images").glob("*.png")}
    assert there == shown == set(recipe.PICTURES)


def test_pictures_are_small_and_look_the_same(recipe: ModuleType, tmp_path: Path) -> None:
    """Two of them were a third of a megabyte and more, for everybody who clones or reads."""
    curves = {name: (np.arange(600) * 10**6, np.arange(600) // (20 + k)) for k, name in enumerate("abcdef")}
    plot.save(plot.timeline(curves, "Flows"), tmp_path, "drawn")
    recipe.shrink(tmp_path / "drawn.png", tmp_path / "small.png")
    with Image.open(tmp_path / "drawn.png") as before, Image.open(tmp_path / "small.png") as after:
        assert before.size == after.size
        assert after.mode == "P"
        pixels = [np.asarray(picture.convert("RGB")).astype(int) for picture in (before, after)]
    assert np.abs(pixels[0] - pixels[1]).max() <= 20
    assert 2 * (tmp_path / "small.png").stat().st_size < (tmp_path / "drawn.png").stat().st_size
    for path in (ROOT / "docs" / "images").glob("*.png"):
        assert path.stat().st_size < 200_000, f"{path.name}: make pictures PICTURES={path.stem}"


def test_recipes_name_what_there_is(recipe: ModuleType) -> None:
    known = {experiment.id for experiment in experiments()}
    for picture in recipe.PICTURES.values():
        for command in picture.commands:
            if command[0] == "reproduce":
                assert command[1] in known
                assert picture.written.name.startswith(command[1])
            for scenario in (part for part in command if part.endswith(".toml")):
                assert (ROOT / scenario).is_file()
