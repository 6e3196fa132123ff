from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from benchmarks.dngo import captions
from benchmarks.dngo.captions import BEST_KNOWN, SPACE, evaluate, risks, true_value
from benchmarks.dngo.cluster import FULL, Cluster, OptunaTPE, Sonde, summary
from benchmarks.dngo.simulated_runs import Job, Run, Scale, Workers, read, write

from sonde import Study

PAPERS_BEST = {
    "model": "additive", "context": 5, "learning_rate": 0.43193, "momentum": 0.23269, "batch": 40, "hidden": 441,
    "embedding": 100, "dropout": 0.14847, "word_decay": 2.98456e-7, "context_decay": 1.09181e-8,
}  # fmt: skip
TINY = Scale("tiny", 60, 8, 20)
DRAWS = [dict(trial.params) for trial in Study(SPACE, strategy="random", seed=0).ask(3000)]


def still() -> float:
    return 0.0


class Ticking:
    """A timer by which every call takes as many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now = seconds, 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return list(Cluster(Sonde("random", 1), TINY, 1, still).run())


def test_the_best_is_where_the_paper_found_it_and_nowhere_better() -> None:
    assert true_value(PAPERS_BEST) == pytest.approx(BEST_KNOWN, abs=0.01)
    assert max(map(true_value, DRAWS)) < BEST_KNOWN
    assert max(risks(PAPERS_BEST)) < 0.05


def test_most_of_the_volume_fails_and_jobs_that_do_not_take_a_day() -> None:
    outcomes = [evaluate(draw, 0) for draw in DRAWS]
    failed = np.array([outcome.value is None for outcome in outcomes])
    hours = np.array([outcome.hours for outcome in outcomes])
    assert 0.75 < failed.mean() < 0.85
    assert hours[~failed].mean() == pytest.approx(captions.HOURS, rel=0.1)
    assert {outcome.error for outcome in outcomes} == {"", "out of memory", "diverged"}


def test_a_seed_decides_noise_failure_and_length() -> None:
    assert [evaluate(draw, 3) for draw in DRAWS[:50]] == [evaluate(draw, 3) for draw in DRAWS[:50]]
    border = next(draw for draw in DRAWS if 0.3 < risks(draw)[0] < 0.7)
    assert {evaluate(border, seed).value is None for seed in range(40)} == {True, False}


def test_the_noise_is_about_the_true_value() -> None:
    values = [evaluate(PAPERS_BEST, seed).value for seed in range(500)]
    told = np.array([value for value in values if value is not None])
    assert np.mean(told) == pytest.approx(true_value(PAPERS_BEST), abs=0.03)
    assert np.std(told) == pytest.approx(captions.NOISE, rel=0.2)


def test_every_job_ends_once_and_no_more_run_than_there_are_workers(jobs: list[Job]) -> None:
    assert sorted(job.number for job in jobs) == list(range(TINY.evaluations))
    assert [job.end for job in jobs] == sorted(job.end for job in jobs)
    workers = Workers(TINY, 1)
    for job in jobs:  # when a job starts, the number of workers is kept to
        running = sum(other.start <= job.start < other.end for other in jobs)
        assert running <= workers.at(job.start)


def test_a_contender_that_takes_no_time_keeps_all_workers_busy(jobs: list[Job]) -> None:
    assert Run("random", 1, TINY, jobs).utilisation() == pytest.approx(1.0, abs=1e-9)


def test_waiting_for_suggestions_leaves_workers_idle() -> None:
    slow = list(Cluster(Sonde("random", 1), TINY, 1, Ticking(3600.0)).run())
    assert sum(job.asking + job.telling for job in slow) >= 3600.0 * TINY.evaluations
    assert Run("random", 1, TINY, slow).utilisation() < 0.8


def test_looking_for_free_workers_every_few_hours_starts_jobs_together(jobs: list[Job]) -> None:
    looked = list(Cluster(Sonde("random", 1), TINY._replace(every=3.0), 1, still).run())
    starts = np.unique([job.start for job in looked])
    assert np.diff(starts).min() >= 3.0 - 1e-9
    assert len(starts) < len({job.start for job in jobs})
    assert Run("random", 1, TINY, looked).utilisation() < 1.0


def test_the_incumbent_is_the_highest_value_told(jobs: list[Job]) -> None:
    told = [job for job in jobs if job.value is not None]
    incumbent = max(told, key=lambda job: job.value or 0.0)
    assert (jobs[-1].best, jobs[-1].best_true) == (incumbent.value, incumbent.true)
    assert np.all(np.diff([job.best for job in jobs if job.best is not None]) >= 0)


def test_workers_stay_between_their_bounds() -> None:
    levels = Workers(FULL, 0).at(np.linspace(0, 1000, 5000))
    assert FULL.fewest <= levels.min() < levels.max() <= FULL.most


def test_contenders_are_asked_for_all_free_workers_and_told_failures() -> None:
    class Recorder:
        asked: list[int] = []
        told: list[float | None] = []
        luck = Random(0)

        def ask(self, count: int) -> list[tuple[Any, dict[str, Any]]]:
            self.asked.append(count)
            return [(None, self.luck.choice(DRAWS)) for _ in range(count)]

        def tell(self, handle: Any, value: float | None) -> None:
            self.told.append(value)

    recorder = Recorder()
    list(Cluster(recorder, TINY, 0, still).run())
    assert recorder.asked[0] == Workers(TINY, 0).at(0.0)
    assert sum(recorder.asked) == len(recorder.told) == TINY.evaluations
    assert None in recorder.told


def test_tpe_is_told_the_worst_value_for_a_failure() -> None:
    tpe = OptunaTPE(0)
    first, second = tpe.ask(2)
    tpe.tell(first[0], None)
    tpe.tell(second[0], 20.0)
    assert [trial.value for trial in tpe.study.get_trials(deepcopy=False)] == [0.0, 20.0]


def test_a_written_run_reads_back(jobs: list[Job], tmp_path: Path) -> None:
    write(tmp_path / TINY.name / "random" / "1.csv", jobs)
    (run,) = read(tmp_path, TINY)
    assert (run.contender, run.seed, len(run.jobs)) == ("random", 1, TINY.evaluations)
    for name in ("start", "end", "value", "best_true"):
        np.testing.assert_allclose(run.column(name), Run("random", 1, TINY, jobs).column(name), rtol=1e-9)
    assert run.jobs[0].error == jobs[0].error
    (row,) = summary([run])
    assert row[f"at {TINY.evaluations}"] == f"{jobs[-1].best_true:.2f}"
