"""A database of version 0.1.0: all data are kept, and the study continues."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import sonde
import sonde.storage.sql
from sonde.errors import StorageError
from sonde.storage import open_storage
from sonde.study.export import document

WRITTEN = Path(__file__).with_name("written_by_0_1_0")
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((WRITTEN / "trials.json").read_text(encoding="utf-8"))


def migrate(engine: sa.Engine, version: str) -> None:
    """Make the tables of a version."""
    with engine.begin() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(Path(sonde.storage.sql.__file__).parent / "migrations"))
        config.set_main_option("path_separator", "os")
        command.upgrade(config, version)


@pytest.fixture
def old_sqlite(tmp_path: Path) -> str:
    return str(shutil.copy(WRITTEN / "studies.sqlite3", tmp_path / "studies.sqlite3"))


@pytest.fixture
def old_postgres(postgres_url: str) -> str:
    """The same rows, in tables that the first migration alone has made."""
    engine = sa.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    migrate(engine, "0001")
    tables = sa.MetaData()
    tables.reflect(engine, only=["studies", "trials"])
    source = sqlite3.connect(WRITTEN / "studies.sqlite3")
    source.row_factory = sqlite3.Row
    with engine.begin() as connection:
        for name in ("studies", "trials"):
            connection.execute(
                sa.insert(tables.tables[name]), [dict(row) for row in source.execute(f"SELECT * FROM {name}")]
            )
    source.close()
    engine.dispose()
    return postgres_url


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_all_data_are_kept_and_the_study_continues(request: pytest.FixtureRequest, kind: str) -> None:
    url = request.getfixturevalue(f"old_{kind}")
    keys = {summary.header.name: summary.header.key for summary in open_storage(url).studies()}
    assert set(keys) == set(EXPECTED)
    assert len(set(keys.values())) == 2
    assert all(len(key) == 32 for key in keys.values())
    for name, expected in EXPECTED.items():
        with sonde.load(url, name) as study:
            assert [_without_new(document(trial)) for trial in study.trials] == expected
            assert {(trial.seen, trial.suggested_in, trial.batch) for trial in study.trials} == {(None, None, None)}
            assert (study.paused, study.note, study.notes) == (False, "", {})
            found = study.verify()
            assert (found.checked, found.unchecked, found.others, found.ok) == (0, 0, len(expected), False)
            assert "kept no record" in str(found)
    with sonde.load(url, "größe") as study:
        assert (study.direction, study.seed, study.explain().split(":")[0]) == ("maximize", 7, "sobol")
        running = [trial.number for trial in study.trials if trial.state == "running"]
        taken = study.ask(3)  # two that waited and the one whose lease has ended
        assert [trial.state for trial in taken] == ["running"] * 3
        assert study.tell(running[0], 9.0).number == running[0]  # asked for by 0.1.0: known by its number
        assert study.tell(taken[0], 8.0).value == 8.0
        assert study.best(by="observed").value == 9.0
        study.set_note("continued", running[0])
        study.pause()
        assert (study.paused, study.notes) == (True, {running[0]: "continued"})
        study.resume()
        suggested = study.ask()  # what is suggested from now on can be checked
        assert suggested.seen is not None
        assert (study.verify().checked, study.verify().deviates) == (1, None)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_of_one_objective_gets_studies_of_several(request: pytest.FixtureRequest, kind: str) -> None:
    url = request.getfixturevalue(f"old_{kind}")
    given = f"sqlite:///{url}" if kind == "sqlite" else url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(given)
    migrate(engine, "0002")  # the last schema without objectives
    assert "objectives" not in {column["name"] for column in sa.inspect(engine).get_columns("trials")}
    engine.dispose()
    space = sonde.Space(x=sonde.Float(0, 1))
    with sonde.Study(space, storage=url, name="both", objectives={"loss": "min", "size": "max"}) as study:
        study.tell(study.ask(), {"loss": 0.5, "size": 2.0}, gradient={"size": {"x": 1.0}})
        trials = study.trials
    with sonde.load(url, "both") as study:
        assert study.trials == trials == study.pareto_front
        assert study.directions == {"loss": "minimize", "size": "maximize"}
    for name, expected in EXPECTED.items():
        with sonde.load(url, name) as study:
            assert [_without_new(document(trial)) for trial in study.trials] == expected


def _without_new(trial: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trial.items() if name in EXPECTED["second"][0]}


@pytest.mark.parametrize(
    ("version", "said"), [("9999", "newer Sonde"), ("0000", "no Sonde has written"), ("x", "no Sonde")]
)
def test_other_schemas_are_refused_in_one_line(old_sqlite: str, version: str, said: str) -> None:
    connection = sqlite3.connect(old_sqlite)
    connection.execute("UPDATE sonde_version SET version_num = ?", (version,))
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match=said) as caught:
        open_storage(old_sqlite)
    assert "\n" not in str(caught.value)


DAMAGES = {
    "a short row": "UPDATE trials SET row = x'00ff' WHERE number = 3",
    "an unknown state": "UPDATE trials SET state = 'sleeping' WHERE number = 3",
    "text for a value": "UPDATE trials SET value = 'much' WHERE number = 3",
    "text for a row": "UPDATE trials SET row = 'row' WHERE number = 3",
    "constraints that are no JSON": "UPDATE trials SET constraints = '{' WHERE number = 3",
    "deep JSON": "UPDATE trials SET constraints = '" + "[" * 100_000 + "' WHERE number = 3",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_named_in_one_line(old_sqlite: str, damage: str) -> None:
    open_storage(old_sqlite).close()
    connection = sqlite3.connect(old_sqlite)
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()
    for look in (lambda study: study.trials, lambda study: study.ask(3), lambda study: study.history):
        with (
            sonde.load(old_sqlite, "second") as study,
            pytest.raises(StorageError, match="trial 3 is damaged") as caught,
        ):
            look(study)
        assert "\n" not in str(caught.value)


def test_a_time_stamp_beyond_the_calendar_is_shown_as_none(old_sqlite: str) -> None:
    open_storage(old_sqlite).close()
    connection = sqlite3.connect(old_sqlite)
    connection.execute("UPDATE trials SET created = 1e300 WHERE number = 3")
    connection.commit()
    connection.close()
    with sonde.load(old_sqlite, "second") as study:
        assert study.trials[3].created is None
