"""Figures as files for papers, and as inline SVG for a page."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from paceline import files
from paceline.plot.style import THEME, style


def settle(figure: Figure) -> None:
    """Lays the figure out once, instead of at every save."""
    if figure.get_layout_engine() is not None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
            figure.draw_without_rendering()
        figure.set_layout_engine("none")


@style()
def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes ``name.png`` (300 dpi), ``name.pdf`` and ``name.svg`` into ``folder``.

    They bear no date: same data, same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settle(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a run named in another script
        _write(figure, folder / f"{name}.png", {"Software": None})
        _write(figure, folder / f"{name}.pdf", {"CreationDate": None, "Creator": None, "Producer": None})
        with mpl.rc_context({"svg.hashsalt": name}):
            _write(figure, folder / f"{name}.svg", {"Date": None, "Creator": None})


def _write(figure: Figure, path: Path, metadata: dict[str, None]) -> None:
    """Draws in memory first: on a full disk matplotlib would leave half a file, and speak of something else."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata=metadata)
    files.write(path, drawn.getvalue())


@style()
def inline_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an ``<svg>`` element for a page: no background, colours from the page's style sheet.

    ``name`` keeps its ids apart from those of other figures, ``description`` is read to those who cannot see it.
    The markup is rebuilt element by element, so labels stay text whatever they contain.
    """
    settle(figure)
    written = io.StringIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": name}):
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(written.getvalue())  # our own output of a moment ago
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
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
