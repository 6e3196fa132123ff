"""What ``pip install sonde`` and each extra bring, in megabytes and packages.

    python -m benchmarks.install_size [--extras jax postgres]     # minutes; needs a package index

Each is installed into a virtual environment of its own, compiled files included as pip makes them. The core is listed
package by package; an extra by what it adds to the core. ``sonde[torch]`` is left out unless asked for: what it brings
depends on the machine and the index, from 0.7 GB (a build for processors) to 5 GB and more.
"""

import argparse
import subprocess
import tempfile
import time
import venv
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benchmarks.report import report

Row = dict[str, Any]

ROOT = Path(__file__).parents[1]
EXTRAS = ("jax", "postgres", "pandas", "all")


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        core, (empty, whole), seconds = installed(Path(folder) / "core", "")
        rows = [row("a virtual environment with nothing in it", empty), row("sonde", whole - empty, seconds, core)]
        rows += [row(f"  {name}", size) for name, size in sorted(core.items(), key=lambda pair: -pair[1])]
        for extra in options.extras:
            packages, (_, size), seconds = installed(Path(folder) / extra, f"[{extra}]")
            added = {name: size for name, size in packages.items() if name not in core}
            rows.append(row(f"extra {extra}", size - whole, seconds, added))
    report("install_size", "What an install brings", rows)


def row(install: str, size: float, seconds: float | None = None, packages: Mapping[str, float] | None = None) -> Row:
    """Return a row of the table, the largest packages first."""
    names = sorted(packages or (), key=lambda name: -(packages or {})[name])
    taken = "" if seconds is None else seconds
    return {"install": install, "MB": size, "seconds": taken, "packages": len(names) or "", "which": " ".join(names)}


def installed(folder: Path, extras: str) -> tuple[dict[str, float], tuple[float, float], float]:
    """Return megabytes of each package, of the environment before and after, and the seconds of pip."""
    venv.create(folder, with_pip=True)
    before, started = megabytes(folder), time.perf_counter()
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"sonde{extras} @ {ROOT.as_uri()}"], check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    sizes = {}
    [packages] = folder.glob("lib/python*/site-packages")
    for each in distributions(path=[str(packages)]):
        if each.name in ("pip", "setuptools"):
            continue
        parts = {Path(file).parts[0] for file in each.files or () if ".." not in Path(file).parts}
        sizes[each.name] = sum(megabytes(packages / part) for part in parts if part != "__pycache__")
    return sizes, (before, megabytes(folder)), seconds


def megabytes(path: Path) -> float:
    """Return what a file or folder takes on disk."""
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(each.lstat().st_blocks for each in paths) * 512 / 2**20


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", nargs="*", default=list(EXTRAS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
