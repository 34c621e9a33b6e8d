"""Figures as files for papers, and as inline SVG for a page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
from fontTools import subset
from matplotlib.figure import Figure

from paceline import files
from paceline.plot.style import THEME, style


def settle(figure: Figure) -> None:
    """Lays the figure out once, instead of at every save.

    Without a layout engine matplotlib draws once for a file; with one, even if it does nothing, twice.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def save(figure: Figure, folder: Path, name: str) -> str:
    """Writes ``name.png`` (300 dpi), ``name.pdf`` and ``name.svg`` into ``folder``; returns the last's text.

    They bear no date: same data, same bytes.
    """
    drawn = as_files(figure, name)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in drawn.items():
        files.write(folder / file, data)
    return drawn[f"{name}.svg"].decode()


@style()
def as_files(figure: Figure, name: str) -> dict[str, bytes]:
    """What :func:`save` writes, by the names of the files."""
    return {
        f"{name}.png": _drawn(figure, "png", {"Software": None}),
        f"{name}.pdf": _drawn(figure, "pdf", {"CreationDate": None, "Creator": None, "Producer": None}),
        f"{name}.svg": _svg(figure, name),
    }


@contextmanager
def _glyphs_alone() -> Iterator[None]:
    """Embeds fonts without the tables by which text is shaped, as in a PDF it is already.

    To cut those down to the glyphs used takes longer than all the rest of a PDF. fontTools has no other way to say so
    when matplotlib calls it; should this one go, PDFs are only slower and larger.
    """
    name = "_drop_tables_default"
    before = getattr(subset.Options, name, [])
    setattr(subset.Options, name, [*before, "GDEF", "GPOS", "GSUB"])
    try:
        yield
    finally:
        setattr(subset.Options, name, before)


_GROUND = "ground"
"""Begins the ids of the backgrounds, which a page has of its own."""


def _svg(figure: Figure, name: str) -> bytes:
    for i, ground in enumerate((figure.patch, *(ax.patch for ax in figure.axes))):
        ground.set_gid(f"{_GROUND}-{i}")
    with mpl.rc_context({"svg.hashsalt": name}):
        return _drawn(figure, "svg", {"Date": None, "Creator": None})


def _drawn(figure: Figure, kind: str, metadata: dict[str, None]) -> bytes:
    """Draws in memory: on a full disk matplotlib would leave half a file, and speak of something else."""
    drawn = io.BytesIO()
    # With constrained layout as the default, no layout engine would stand for a new one.
    with warnings.catch_warnings(), mpl.rc_context({"figure.constrained_layout.use": False}), _glyphs_alone():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a run named in another script
        settle(figure)
        figure.savefig(drawn, format=kind, metadata=metadata)
    return drawn.getvalue()


@style()
def inline_svg(figure: Figure, name: str, description: str, drawn: str | None = None) -> str:
    """The figure as an ``<svg>`` element for a page: no background, colours from the page's style sheet.

    ``name`` keeps its ids apart from those of other figures, ``description`` is read to those who cannot see it.
    ``drawn`` is the figure's SVG file as text, by which it is not drawn again. The markup is rebuilt element
    by element, so labels stay text whatever they contain.
    """
    root = ET.fromstring(drawn or _svg(figure, name))  # our own output of a moment ago
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")) or child.get("id", "").startswith(f"{_GROUND}-"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            element.attrib[key.rpartition("}")[2]] = _page_attribute(key.rpartition("}")[2], value, name)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title"}
    title = ET.Element("title", {"id": f"{name}-title"})
    title.text = description
    root.insert(0, title)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _page_attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    if key in ("style", "clip-path", "fill", "stroke"):
        value = value.replace("url(#", f"url(#{name}-")
        value = re.sub(r"font-family: [^;]*;?", "", value)  # the page's own
        value = re.sub(r"(font: [^;]*?[0-9.]+px) [^;]*", r"\1 var(--sans)", value)
        return re.sub(r"#[0-9a-f]{6}\b", lambda m: THEME.get(m[0], m[0]), value)
    return value
