"""Every figure of every kind of study is drawn without a browser, light and dark, and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from tests.plots.zoo import HOSTILE, ZOO

import sonde
from sonde.errors import OptionError
from sonde.plots.figure import Figure
from sonde.plots.theme import COLOURS

OWN = ("history", "parallel", "front", "curves", "timeline", "seconds", "distribution", "compare")
WITHOUT_MODEL = {"front": {"model": False}}


def drawn(study: sonde.Study, name: str) -> Figure:
    return getattr(study.plot, name)(**WITHOUT_MODEL.get(name, {}))


def texts(path: Path) -> list[str]:
    return [
        "".join(each.itertext()).strip() for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    ]


@pytest.mark.parametrize("kind", ZOO)
def test_every_figure_is_a_picture(kind: str, tmp_path: Path) -> None:
    study = ZOO[kind]()
    names = [name for name in OWN if name != "front" or study.objectives.several]
    assert set(study.plot.names()) & set(OWN) <= set(names)
    for name in names:
        light = drawn(study, name)
        light.dark().save(tmp_path / f"{name}.png", width=300, height=240)
        pixels = imread(tmp_path / f"{name}.png")
        assert pixels.shape[:2] == (480, 600)
        assert pixels[2, 2, 0] == pytest.approx(0x14 / 255, abs=0.01)
        assert pixels[..., :3].std() > 0.01, f"{name} is blank"
        data = json.loads(light.to_json())
        assert "scattergl" not in str(data)
        light.save(tmp_path / f"{name}.svg")
        assert any(light.layout.title.text in text for text in texts(tmp_path / f"{name}.svg"))


def test_light_paper(tmp_path: Path) -> None:
    ZOO["one"]().plot.history().save(tmp_path / "a.png", width=300, height=240)
    assert imread(tmp_path / "a.png")[2, 2, :3].tolist() == [1, 1, 1]


def test_texts_of_a_picture_are_texts(tmp_path: Path) -> None:
    ZOO["plain"]().plot.parallel().save(tmp_path / "a.svg")
    found = texts(tmp_path / "a.svg")
    assert {"lr", "layers", "opt", "momentum", "adam", "sgd", "inactive"} <= set(found)
    assert "0.0001" in found  # the ticks of lr are powers of ten


def test_names_are_texts_and_not_markup(tmp_path: Path) -> None:
    study = ZOO["hostile"]()
    for name in ("history", "parallel", "front", "compare"):
        figure = drawn(study, name)
        shown = figure.to_json()
        assert "<script" not in shown
        assert "<b>" not in shown
        assert not re.search(r"%\{(?!x|y|z|text|customdata)", shown)
        figure.save(tmp_path / "a.svg")
        ElementTree.parse(tmp_path / "a.svg")  # no control characters
    study.plot.parallel().save(tmp_path / "a.svg")
    found = texts(tmp_path / "a.svg")
    assert HOSTILE[:17] in "".join(found)
    assert "<i>x</i>" in found


def test_pictures_do_not_change(tmp_path: Path) -> None:
    for kind in ("svg", "pdf"):
        for name in ("a", "b"):
            ZOO["two"]().plot.front(model=False).save(tmp_path / f"{name}.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_drawing_changes_no_settings_of_matplotlib(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    ZOO["one"]().plot.history().save(tmp_path / "a.png")
    assert dict(mpl.rcParams) == before


def test_html_is_complete(tmp_path: Path) -> None:
    ZOO["one"]().plot.history().save(tmp_path / "a.html")
    assert "cdn.plot.ly" not in re.sub(r"<script.*?</script>", "", (tmp_path / "a.html").read_text("utf-8"), flags=re.S)
    assert (tmp_path / "a.html").stat().st_size > 1_000_000


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("a.gif", {}, "must end in .png, .svg, .pdf, .html or .json"),
        ("a.png", {"width": 5}, "width must be a number of pixels from 100 to 10,000, got 5"),
        ("a.png", {"height": "tall"}, "height must be a number"),
    ],
)
def test_odd_files(name: str, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=re.escape(said)):
        ZOO["empty"]().plot.history().save(tmp_path / name, **options)


def test_what_needs_a_browser_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'violin' cannot be drawn without a browser; save the figure as \.html"):
        Figure.of([{"type": "violin", "y": [1, 2]}], {}).save(tmp_path / "a.png")


def test_all_kinds_of_traces_and_axes(tmp_path: Path) -> None:
    edge = {"xref": "paper", "yref": "paper"}
    traces = [
        {"type": "bar", "x": ["a", "b"], "y": [1, 2], "name": "bars", "error_y": {"array": [0.1, 0.2]},
         "text": ["one", "two"], "textposition": "outside"},
        {"type": "bar", "x": ["a", "b"], "y": [2, 1], "name": "others"},
        {"type": "heatmap", "z": [[1, None], [3, 4]], "xaxis": "x2", "yaxis": "y2", "texttemplate": "%{z:.1f}"},
        {"type": "contour", "z": np.outer(np.arange(5.0), np.arange(4.0)), "xaxis": "x3", "yaxis": "y3"},
        {"type": "histogram", "x": np.arange(30.0) ** 2, "xaxis": "x4", "yaxis": "y4", "name": "counts"},
        {"type": "scatter", "x": ["2026-01-01", "2026-02-01"], "y": [1, 10], "xaxis": "x5", "yaxis": "y5",
         "name": "dates", "mode": "lines+markers+text", "text": ["begin", "<b>end</b>"]},
    ]  # fmt: skip
    layout = {
        "barmode": "stack", "title": {"text": "all<br>kinds"}, "xaxis": {"domain": [0, 0.15]}, "yaxis": {},
        "xaxis2": {"domain": [0.2, 0.35]}, "yaxis2": {"anchor": "x2"},
        "xaxis3": {"domain": [0.4, 0.55]}, "yaxis3": {"anchor": "x3"},
        "xaxis4": {"domain": [0.6, 0.75]}, "yaxis4": {"anchor": "x4"},
        "xaxis5": {"domain": [0.8, 1], "type": "date"}, "yaxis5": {"anchor": "x5", "type": "log"},
        "shapes": [{"type": "rect", **edge, "x0": 0, "x1": 1, "y0": 0, "y1": 1, "fillcolor": "#eee"}],
        "annotations": [{"text": "a note", "xref": "x5", "yref": "y5", "x": "2026-01-10", "y": 0.5}],
    }  # fmt: skip
    figure = Figure.of(traces, layout)
    figure.save(tmp_path / "a.svg", width=1200)
    found = texts(tmp_path / "a.svg")
    assert {"a", "b", "one", "1.0", "4.0", "begin", "end", "a note", "bars", "counts"} <= set(found)
    assert "all" in " ".join(found)


def test_colours_differ_for_colour_blind_readers() -> None:
    """The colours of states and lines stay apart when one kind of cones is missing (Viénot et al. 1999)."""
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in COLOURS[:6]])
    linear = rgb**2.2
    deuteranopia = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    protanopia = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    for lost in (deuteranopia, protanopia):
        seen = np.clip(linear @ lost.T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(len(seen), 1)]
        assert apart.min() > 0.1
