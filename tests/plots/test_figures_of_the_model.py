"""Every figure of the model draws every kind of study, and shows names of users as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.plots.modelled import MIXED, PLANE, bowl, mixed, study_of

import sonde
from sonde.plots.source import Source
from sonde.plots.table import Table

FIGURES = ("slices", "contours", "importance", "predictions", "feasibility", "planar")
HOSTILE = ("<script>alert(1)</script>", "x" * 200, "\u202eright to left", "שלום", "👩‍🔬", "a\nb\x1b[31m", "%{y} & $x$")


def hostile_space() -> sonde.Space:
    names = {name: sonde.Float(0, 1) for name in HOSTILE[:3]}
    return sonde.Space({**names, HOSTILE[4]: sonde.Categorical(list(HOSTILE))})


def sometimes(params: Mapping[str, Any]) -> dict[str, Any]:
    return {"failed": HOSTILE[0]} if params["x"] > 0.7 else {"value": params["x"]}


STUDIES: dict[str, Any] = {
    "no trials": lambda: study_of(PLANE, bowl, 0),
    "one trial": lambda: study_of(PLANE, bowl, 1),
    "two trials": lambda: study_of(MIXED, mixed, 2),
    "only failures": lambda: study_of(PLANE, lambda p: {"failed": "no"}, 4),
    "some failures": lambda: study_of(PLANE, sometimes, 20),
    "one parameter": lambda: study_of(sonde.Space(x=sonde.Float(0, 1)), lambda p: p["x"], 6),
    "one value": lambda: study_of(sonde.Space(x=sonde.Int(3, 3)), lambda p: 1.0, 1),
    "equal values": lambda: study_of(PLANE, lambda p: 1.0, 6),
    "categories only": lambda: study_of(
        sonde.Space(a=sonde.Categorical(["p", "q", "r"]), b=sonde.Bool()), lambda p: len(p["a"]) + p["b"], 6
    ),
    "conditional": lambda: study_of(MIXED, mixed, 12),
    "maximized": lambda: study_of(MIXED, mixed, 12, direction="maximize"),
    "huge values": lambda: study_of(PLANE, lambda p: 1e200 * (p["x"] - 0.5), 6),
    "never feasible": lambda: study_of(PLANE, lambda p: {"value": p["x"], "constraints": {"c": 1.0}}, 8),
    "several objectives": lambda: study_of(
        PLANE, lambda p: {"value": {HOSTILE[0]: p["x"], "b": p["y"]}}, 8,
        objectives={HOSTILE[0]: "minimize", "b": "maximize"},
    ),
    "hostile names": lambda: study_of(hostile_space(), lambda p: p[HOSTILE[0]], 12),
    "three trials, auto": lambda: study_of(MIXED, mixed, 3, strategy="auto"),
    "dngo": lambda: study_of(PLANE, sometimes, 30, strategy="dngo"),
    "igo": lambda: study_of(
        sonde.Space({f"b{i}": sonde.Bool() for i in range(6)}), lambda p: float(sum(p.values())), 20, strategy="igo"
    ),
    "gradients": lambda: study_of(
        PLANE, lambda p: {"value": bowl(p), "gradient": {"x": 2 * (p["x"] - 0.3), "y": 1.0}}, 8, strategy="fobo"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", STUDIES)
def test_every_study_has_every_figure(kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]()
    for name in FIGURES:
        part = import_module(f"sonde.plots.{name}")
        table = part.table(study)
        figure = part.figure(table, study)
        assert isinstance(table, Table)
        assert len(table) or figure.layout.annotations[0].text
        drawn = figure.to_json()
        assert "<script>" not in json.dumps(json.loads(drawn), ensure_ascii=False)
        assert "\u202e" not in drawn
        table.write(tmp_path / f"{name}.csv")


@pytest.mark.parametrize("kind", ["hostile names", "some failures"])
def test_every_figure_is_drawn_without_a_browser(kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]()
    for name in FIGURES:
        target = tmp_path / f"{name}.svg"
        getattr(study.plot, name)().save(target)
        assert "</svg>" in target.read_text(encoding="utf-8")


def test_a_study_is_a_source() -> None:
    source: Source = study_of(PLANE, bowl, 1)
    assert source.trial(0).number == 0
