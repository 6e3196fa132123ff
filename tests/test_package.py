from __future__ import annotations

import subprocess
import sys

import pytest

import sonde

HEAVY = ("jax", "sqlalchemy", "numpy", "scipy", "rich", "loky", "pandas", "torch", "alembic")


def loaded_after(code: str) -> set[str]:
    """Return which heavy modules a new interpreter has loaded after running the code."""
    program = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert loaded_after("import sonde") == set()


def test_a_study_in_memory_needs_no_database_and_no_numerics() -> None:
    code = "import sonde; sonde.Study(sonde.Space(x=sonde.Float(0, 1))).ask(8)"
    assert loaded_after(code) <= {"numpy", "loky"}


def test_a_study_on_disk_that_exists_needs_no_migrations(sqlite_url: str) -> None:
    code = f"import sonde; sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage={sqlite_url!r}, name='s').ask()"
    assert "alembic" in loaded_after(code)
    assert loaded_after(code) <= {"numpy", "loky", "sqlalchemy"}


@pytest.mark.jax
def test_every_public_name_is_there() -> None:
    assert {"Space", "Float", "Int", "Categorical", "Bool", "Study", "Trial", "Evaluation", "minimize", "maximize",
            "load", "delete", "autograd", "__version__"} <= set(dir(sonde))  # fmt: skip
    for name in dir(sonde):
        assert getattr(sonde, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = sonde.nonsense  # type: ignore[attr-defined]
