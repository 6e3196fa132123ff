"""Every notebook runs as it is stored, and can be shown as a page of the site.

``after/notebooks/<name>.py`` has assertions on what its cells have computed.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from website.notebooks import Page, execute

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
AFTER = Path(__file__).with_name("after") / "notebooks"


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook, whose format is checked."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


@pytest.mark.usefixtures("compiled_as_for_users")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.jax] * ("import jax" in path.read_text("utf-8")))
        for path in NOTEBOOKS
    ],
)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    assertions = (AFTER / path.name).with_suffix(".py").read_text(encoding="utf-8")
    notebook.cells.append(nbformat.v4.new_code_cell(assertions))
    execute(notebook, tmp_path)
    assert list(tmp_path.iterdir()) == []
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []  # warnings
    page = Page(notebook, path.stem)
    assert len(page.pictures) >= 2
    assert all(f"]({picture}" in page.text for picture in page.pictures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_outputs_and_are_short(path: Path) -> None:
    cells = read(path).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert len(cells) <= 15
    assert cells[0].source.startswith("# ")
    assert cells[-1].source.startswith("## What to take from here")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for cell in read(path).cells:
        for target in re.findall(r"\]\(([^)#:]+)\)", cell.source if cell.cell_type == "markdown" else ""):
            assert (path.parent / target).exists(), target


def test_an_error_in_a_cell_is_one_here(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 > 2")])
    with pytest.raises(CellExecutionError, match="AssertionError"):
        execute(notebook, tmp_path)


def test_what_stands_around_notebooks_belongs_to_one() -> None:
    assert {path.stem for path in AFTER.glob("*.py")} == {path.stem for path in NOTEBOOKS}
