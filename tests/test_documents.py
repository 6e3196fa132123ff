"""The README's and the docs' examples run, and so do the scripts in examples/."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sonde

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"train": lambda trial: trial["lr"] * trial["layers"]}
    exec(blocks("README.md")[0], namespace)
    assert len(namespace["result"].trials) == 100
    assert (tmp_path / "runs.db").exists()
    assert "lr" in capsys.readouterr().out


def test_spaces_of_the_docs_are_spaces() -> None:
    namespace: dict[str, Any] = {}
    exec(blocks("docs/spaces.md")[0], namespace)
    assert len(namespace["space"]) == 5
    exec(blocks("docs/spaces.md")[1], namespace)
    assert namespace["space"].finite is False


def test_the_noise_of_the_docs_is_seen_through(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = [each for each in blocks("docs/studies.md") if "random.gauss" in each]
    namespace: dict[str, Any] = {}
    exec(block, namespace)
    (modelled, observed), (mean, std), (lowest,) = (
        map(float, line.split()) for line in capsys.readouterr().out.splitlines()
    )
    assert modelled == mean
    assert abs(modelled - (namespace["best"]["x"] - 0.3) ** 2) < 3 * std
    assert lowest < -0.1 < modelled
    assert observed >= lowest


def test_the_strategy_of_the_docs_climbs() -> None:
    namespace: dict[str, Any] = {}
    for block in blocks("docs/strategies.md"):
        exec(block, namespace)
    study = namespace["study"]
    study.optimize(lambda trial: trial["x"] ** 2 + trial["y"] ** 2, 60, progress=False)
    assert study.best_value < 0.3
    assert study.explain().startswith("hill")


@pytest.mark.jax
def test_the_kernels_of_the_docs_run() -> None:
    namespace: dict[str, Any] = {}
    exec(blocks("docs/kernels.md")[0], namespace)
    assert namespace["z"].converged
    assert namespace["K"].paths == ("structured",)
    exec(blocks("docs/kernels.md")[1], namespace)


@pytest.mark.jax
def test_the_gaussian_process_of_the_docs_runs(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    exec(blocks("docs/gp.md")[0], namespace)
    assert "Gaussian process" in capsys.readouterr().out
    exec(blocks("docs/gp.md")[1], namespace)
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy=namespace["strategy"], seed=0)
    study.optimize(lambda trial: (trial["x"] - 0.3) ** 2, 8, progress=False)
    assert study.best_value < 0.01


@pytest.mark.jax
def test_the_gradients_of_the_docs_come_out() -> None:
    namespace: dict[str, Any] = {}
    exec(blocks("docs/gradients.md")[0], namespace)
    for trial in namespace["result"].trials:
        assert list(trial.gradient) == ["x", "rate"]
    assert namespace["loss"]({"x": 2.0, "rate": 0.01, "layers": 1, "kind": "hard"}).gradient["x"] == 8.0


def test_the_rippled_function_of_the_docs_goes_down() -> None:
    namespace: dict[str, Any] = {}
    exec(blocks("docs/fobo.md")[0], namespace)
    assert namespace["result"].best_value < 60  # a mean value is 110
    assert "fobo" in namespace["result"].study.explain()


def test_the_examples_of_natural_gradients_run() -> None:
    knapsack, alone, structure = ({} for _ in range(3))  # type: dict[str, Any], dict[str, Any], dict[str, Any]
    for block, namespace in zip(blocks("docs/igo.md"), (knapsack, alone, structure), strict=True):
        exec(block, namespace)
    assert knapsack["result"].best_value >= 149  # of 150
    assert alone["search"].theta.min() > 0.8
    assert structure["keep"]["units"].shape == (3, 1024)


def test_links_of_the_readme_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.jax] * ("import jax" in path.read_text()))
        for path in EXAMPLES
    ],
)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(script), "2"]
    for _ in range(2):  # the second run resumes
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        assert re.search("best|test error", done.stdout)
