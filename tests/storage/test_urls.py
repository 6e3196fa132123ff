"""Forms of ``storage=``; a password is never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

import sonde
from sonde.errors import OptionError, SondeError
from sonde.storage import open_storage
from sonde.storage.sql import urls

SECRET = "s3cr3tw0rd"
LEAKS = [
    f"mysql://user:{SECRET}@host/db",  # a wrong scheme
    f"postgresql://user:{SECRET}@127.0.0.1:port/db",  # a wrong port
    f"postgresql://user:{SECRET}@127.0.0.1:99999/db",
    f"POSTGRESQL://user:{SECRET}@127.0.0.1:1/db",
    f"  postgresql://user:{SECRET}@127.0.0.1:1/db",
    f"postgresql://user:{SECRET}@inside@127.0.0.1:1/db",
    f"postgresql://user:in?{SECRET}@127.0.0.1:1/db",
    f"postgresql://user:in/{SECRET}@127.0.0.1:1/db",
    f"postgresql://user@127.0.0.1:1/db?password={SECRET}",
    f"postgresql://127.0.0.1:1/db?user=u&password={SECRET}",
    f"postgresql://user:{SECRET}",
    f"postgres:/user:{SECRET}@host/db",
    f"user:{SECRET}@host/db",
    f"host=h password={SECRET}",
]


@pytest.mark.parametrize("url", LEAKS)
def test_a_password_is_never_repeated(url: str) -> None:
    with pytest.raises(SondeError) as caught:
        sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=url, name="study")
    error: BaseException | None = caught.value
    while error is not None:  # what a traceback would print too
        assert SECRET not in str(error)
        assert SECRET not in repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize(
    ("url", "password", "host"),
    [
        ("postgresql://user:p@ss@host:5433/db", "p@ss", "host"),
        ("postgresql://user:p%40ss@host:5433/db", "p@ss", "host"),
        ("Postgres://user:a?b@host:5433/db?connect_timeout=3", "a?b", "host"),
        ("postgresql+psycopg://user@[::1]:5433/db?password=p", "p", "::1"),
    ],
)
def test_passwords_may_hold_any_character(url: str, password: str, host: str) -> None:
    parsed = urls.parse(url)
    assert (parsed.drivername, parsed.username, parsed.password) == ("postgresql+psycopg", "user", password)
    assert (parsed.host, parsed.port, parsed.database) == (host, 5433, "db")
    assert password not in urls.shown(parsed).replace("postgresql+psycopg", "")


def test_a_path_may_hold_any_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("q?uery.db", "100%.db", "a#b.db", "sp ace.sqlite3"):
        open_storage(name).close()
        assert (tmp_path / name).exists()
        open_storage(tmp_path / name, existing=True).close()
    assert not (tmp_path / "q").exists()


def test_what_follows_a_question_mark_in_a_url_are_options(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="without sqlite:///"):
        open_storage(f"sqlite:///{tmp_path}/q?uery.db")
    assert list(tmp_path.iterdir()) == []
    open_storage(f"sqlite:///{tmp_path}/q.db?timeout=5").close()
