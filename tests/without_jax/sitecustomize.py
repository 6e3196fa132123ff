"""Makes JAX and its kin as good as not installed, in every interpreter started with this folder on PYTHONPATH."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

HIDDEN = {"jax", "jaxlib", "equinox", "lineax", "optax"}


class WithoutJax(PathFinder):
    """Finds everything else."""

    @classmethod
    def find_spec(cls, fullname: str, *args: Any, **options: Any) -> ModuleSpec | None:
        """Return where a module is, None for what is hidden."""
        return None if fullname.partition(".")[0] in HIDDEN else PathFinder.find_spec(fullname, *args, **options)


sys.meta_path = [WithoutJax if each is PathFinder else each for each in sys.meta_path]
