"""What a reader looks up: the space and the settings, a script that runs, and versions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from sonde.html import cut, escaped
from sonde.report.content import Content, versions
from sonde.report.markup import facts, paragraph, scrolled
from sonde.report.script import script_of
from sonde.space.choices import label
from sonde.space.parameters import Categorical, Float, Int, Parameter
from sonde.storage.sql.urls import parse, shown

CHOICES = 300  # characters of the choices of a parameter


def settings(content: Content) -> str:
    """Return the space and what the study was created with."""
    study = content.study
    rows = [[name, *_described(parameter)] for name, parameter in study.space.items()]
    table = scrolled(rows, ["parameter", "kind", "values", "scale", "only when"], "The space")
    pairs = dict(_settings(content))
    return f"<h3>Space</h3>{table}<h3>Study</h3>{facts(pairs)}"


def reproduction(content: Content) -> str:
    """Return a script that runs, how to verify the suggestions, and versions."""
    best = None if isinstance(content.best, str) else content.best
    script = f'<pre dir="ltr"><code>{escaped(script_of(content.study, best))}</code></pre>'
    said = paragraph(
        "This script begins a study with the same space, seed and settings at the best configuration. The same seed "
        "and the same results in the same order give the same suggestions.",
    )  # fmt: skip
    return f"{said}{script}{_verification(content)}<h3>Versions</h3>{facts(versions())}"


def _described(parameter: Parameter) -> list[str]:
    """Return kind, values, scale and condition of a parameter."""
    kind, when = (
        type(parameter).__name__,
        ", ".join(f"{name} = {value}" for name, value in (parameter.when or {}).items()),
    )
    if isinstance(parameter, Float | Int):
        step = "" if parameter.step in (None, 1) else f", in steps of {parameter.step:g}"
        return [
            kind,
            f"{parameter.low:.6g} to {parameter.high:.6g}{step}",
            "logarithmic" if parameter.log else "linear",
            when,
        ]
    choices = parameter.choices if isinstance(parameter, Categorical) else (False, True)
    return [kind, cut(", ".join(map(label, choices)), CHOICES), "", when]


def _settings(content: Content) -> Iterator[tuple[str, Any]]:
    study = content.study
    for constraint in study.space.constraints:
        yield "constraint", constraint.name
    for each in study.objectives.each:
        limit = "" if each.threshold is None else f", nothing beyond {each.threshold:g} interests"
        yield f"objective {each.name}" if study.objectives.several else "objective", f"{each.direction}{limit}"
    yield "seed", study.seed
    yield "strategy", content.header.strategy
    yield "configurations of the space", f"{study.space.size:,}" if study.space.finite else "infinitely many"
    yield "storage", _shown_url(study.storage.url) or "memory of the process"


def _verification(content: Content) -> str:
    url = _shown_url(content.study.storage.url)
    if url is None:
        return ""
    command = f"sonde verify --storage {shlex.quote(url)} --name {shlex.quote(content.study.name)}"
    said = paragraph("This command computes every suggestion again, and says whether it is the one that was tried:")
    return f'{said}<pre dir="ltr"><code>{escaped(command)}</code></pre>'


def _shown_url(url: str | None) -> str | None:
    """Return a URL without its password, which libpq finds elsewhere, and without options, which may hold one."""
    if url is None:
        return None
    if url.startswith("http"):
        return re.sub("//[^/]*@", "//", url)
    return shown(parse(url)).replace(":***@", "@")
