"""A real notebook, executed by a real kernel without a browser."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

HOSTILE = "<script>alert(1)</script>"

PREPARED = f"""
import sonde, sys
name = {HOSTILE!r}
space = sonde.Space({{name: sonde.Float(0, 1), "y": sonde.Float(1e-3, 1, log=True)}})
def objective(trial):
    if trial["y"] > 0.6:
        raise ValueError("too large")
    return (trial[name] - 0.3) ** 2 + trial["y"]
study = sonde.Study(space, seed=0, name="first " + name)
"""

CELLS = {
    "prepared": PREPARED,
    "run": "study.optimize(objective, 8)",
    "study": "study",
    "result": "sonde.minimize(objective, space, 3, seed=0, name='second', progress=False)",
    "trial": "study.trial(0)",
    "prediction": "study.predict(study.best_params)",
    "predictions": "study.predict([dict(trial) for trial in study.trials])",
    "diagnosis": "study.diagnose()",
    "figure": "study.plot.history()",
    "without": "sys.modules['ipywidgets'] = None  # as where it is not installed\nstudy.optimize(objective, 2)",
}


class Watching(NotebookClient):
    """Keeps what widgets of HTML were told to show."""

    said: list[str]

    def handle_comm_msg(self, outs: list[Any], msg: dict[str, Any], cell_index: int) -> None:
        value = msg["content"].get("data", {}).get("state", {}).get("value", "")
        if value:
            self.said.append(value)
        super().handle_comm_msg(outs, msg, cell_index)


@pytest.fixture(scope="module")
def executed() -> tuple[dict[str, list[Any]], list[str]]:
    """The outputs of each cell, and what the live figure showed."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()])
    client = Watching(notebook, timeout=100, kernel_name="python3")
    client.said = []
    client.execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}, client.said


def html(outputs: list[Any]) -> str:
    """The HTML of the last output."""
    return str(outputs[-1]["data"]["text/html"])


def test_the_live_figure_grows(executed: tuple[dict[str, list[Any]], list[str]]) -> None:
    outputs, said = executed
    shown = [output["data"] for output in outputs["run"] if output["output_type"] == "display_data"]
    assert sum("application/vnd.jupyter.widget-view+json" in data for data in shown) == 2  # the bar and the figure
    figures = [value for value in said if "result" in value or "<svg" in value]
    assert "no result yet" in figures[0]
    assert "<svg" in figures[-1]
    assert "value of each trial, and the best so far" in figures[-1]


def test_without_ipywidgets_there_are_lines(executed: tuple[dict[str, list[Any]], list[str]]) -> None:
    outputs, _ = executed
    (lines,) = outputs["without"]
    assert lines["name"] == "stderr"
    assert "2/2 trials, best" in lines["text"]


def test_everything_is_shown_as_html(executed: tuple[dict[str, list[Any]], list[str]]) -> None:
    outputs, _ = executed
    assert "<svg" in html(outputs["study"])
    assert "minimize over 2 parameters" in html(outputs["study"])
    assert "best" in html(outputs["result"])
    assert "Trial 0" in html(outputs["trial"])
    assert "±" in html(outputs["prediction"])
    assert "std" in html(outputs["predictions"])
    assert "rank correlation" in html(outputs["diagnosis"])
    assert "application/vnd.plotly.v1+json" in outputs["figure"][-1]["data"]


def test_names_are_escaped(executed: tuple[dict[str, list[Any]], list[str]]) -> None:
    outputs, said = executed
    for name in ("study", "result", "trial"):
        assert "alert(1)" in html(outputs[name])
        assert HOSTILE not in html(outputs[name])
    assert not any(HOSTILE in value for value in said)
