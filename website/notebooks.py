"""Notebooks as pages of the site: executed when it is built, with what their cells print and draw.

They are stored without outputs. Figures of Plotly become pictures, one for a light page and one for a dark one, so that
a page loads nothing from another host.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbclient import NotebookClient
from nbformat import NotebookNode

from sonde.plots.figure import Figure

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # several notebooks run side by side
PLOTLY, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"


def execute(notebook: NotebookNode, folder: str | Path) -> None:
    """Run all cells in a folder, with a kernel of this environment; an exception in a cell is one here."""
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}},
        # Nothing about the transport between the kernel and this process; pictures for sharp screens.
        extra_arguments=["--log-level=ERROR", "--InlineBackend.figure_formats=retina"],
    ).execute(env=ONE_THREAD | os.environ)  # fmt: skip


class Page:
    """A notebook as Markdown, ``text``, and its pictures, ``pictures``, by the name of their file."""

    def __init__(self, notebook: NotebookNode, name: str) -> None:
        self.pictures: dict[str, bytes] = {}
        self._name = name
        parts = [part for cell in notebook.cells for part in self._cell(cell)]
        parts.append(f"---\n\n[Download this page as a notebook]({name}.ipynb)")
        self.text = "\n\n".join(parts)

    def _cell(self, cell: NotebookNode) -> Iterator[str]:
        if cell.cell_type == "markdown":
            yield re.sub(r"\]\((\w+)\.ipynb", r"](\1.md", cell.source)
        elif cell.cell_type == "code":
            yield _fenced(cell.source, "python")
            for output in cell.outputs:
                yield from self._output(output)

    def _output(self, output: NotebookNode) -> Iterator[str]:
        if output.output_type == "stream":
            yield _fenced(output.text)
        elif WIDGET not in output.get("data", {}):
            yield from self._shown(output.data)

    def _shown(self, data: Mapping[str, Any]) -> Iterator[str]:
        if PLOTLY in data:
            yield self._figure(Figure({key: data[PLOTLY][key] for key in ("data", "layout")}))
        elif "image/svg+xml" in data:
            yield self._picture(data["image/svg+xml"].encode(), "svg")
        elif "image/png" in data:
            yield self._picture(base64.b64decode(data["image/png"]), "png")
        elif data.get("text/plain"):  # a bar that has gone away leaves an empty one
            yield data["text/html"] if "text/html" in data else _fenced(data["text/plain"])

    def _figure(self, figure: Figure) -> str:
        title = re.sub("<.*", "", figure.layout.title.text or "Figure")
        return "".join(
            self._picture(_svg(drawn), "svg", title, mode)
            for drawn, mode in ((figure, "light"), (figure.dark(), "dark"))
        )

    def _picture(self, content: bytes, ending: str, title: str = "Figure", mode: str = "") -> str:
        file = f"{self._name}-{len(self.pictures) + 1}.{ending}"
        self.pictures[file] = content
        return f"![{title}]({file}{mode and f'#only-{mode}'})"


def _fenced(text: str, language: str = "text") -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def _svg(figure: Figure) -> bytes:
    with TemporaryDirectory() as folder:
        target = Path(folder, "figure.svg")
        figure.save(target)
        return target.read_bytes()
