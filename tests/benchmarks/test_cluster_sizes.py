"""How busy many workers are: the model, the simulation and the code that both describe must agree."""

from __future__ import annotations

import pytest
from benchmarks.cluster.sizes import RULES, Setting, Simulation, limit, steady

import sonde
from sonde.study.asking_ahead import AskingAhead
from sonde.study.suggester import Suggester

TOLERANCE = 0.03  # of the share of busy workers


def simulated(setting: Setting, seed: int = 0) -> float:
    return Simulation(setting, seed).run(2000, 6000).busy


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("workers", "job"), [(8, 2.0), (32, 2.0), (32, 10.0), (100, 10.0), (100, 60.0)])
def test_the_model_agrees_with_the_simulation(workers: int, job: float, rule: str) -> None:
    setting = Setting(workers, job, rule=rule)
    assert steady(setting).busy == pytest.approx(simulated(setting), abs=TOLERANCE)


@pytest.mark.parametrize("workers", [30, 100, 300])
def test_without_a_queue_a_worker_waits_for_one_and_a_half_batches(workers: int) -> None:
    """For the rest of the batch that is computed, and for the next."""
    setting = Setting(workers, job=10.0, a=1.0, b=0.0, tell=0.0, rule="none")
    assert simulated(setting) == pytest.approx(10 / 11.5, abs=0.01)
    assert steady(setting).busy == pytest.approx(10 / 11.5, abs=0.01)


def test_a_queue_saves_nearly_all_waiting() -> None:
    driver, service = (Setting(300, 10.0, a=1.0, b=0.0, tell=0.0, rule=rule) for rule in ("driver", "service"))
    for busy in (steady(driver).busy, simulated(driver)):
        assert busy == pytest.approx(1, abs=0.015)
    for busy in (steady(service).busy, simulated(service)):
        assert busy == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("rule", ["none", "driver"])
def test_one_worker_waits_for_every_suggestion(rule: str) -> None:
    setting = Setting(1, 2.0, rule=rule)
    exact = 2 / (2 + setting.a + setting.b + setting.tell)
    assert steady(setting).busy == pytest.approx(exact, rel=1e-9)
    assert simulated(setting) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("a", "b", "tell", "most"), [(0.1, 0.02, 0.0, 50), (0.1, 0.001, 0.02, 50), (0.1, 0, 0, 500)])
def test_the_slowest_of_workers_suggester_and_telling_is_the_limit(
    a: float, b: float, tell: float, most: float, rule: str
) -> None:
    setting = Setting(500, 1.0, a, b, tell, rule)
    share = most / 500
    assert limit(setting) == pytest.approx(most)
    assert 0.7 * share < steady(setting).busy <= share
    assert 0.7 * share < simulated(setting) <= 1.05 * share  # jobs of a sample are longer or shorter than T


@pytest.mark.parametrize("rule", RULES)
def test_a_suggestion_does_not_know_as_many_results_as_there_are_workers_and_places_in_the_queue(rule: str) -> None:
    setting = Setting(100, 10.0, rule=rule)
    found = Simulation(setting, 0).run(2000, 6000).unknown
    assert steady(setting).unknown == pytest.approx(found, abs=1 if rule == "driver" else 1e-9)
    assert steady(setting).unknown == {"none": 99, "driver": 110, "service": 199}[rule]


def test_a_seed_decides_everything() -> None:
    first, second = (Simulation(Setting(32, 2.0), seed=3).run(500, 500) for _ in range(2))
    assert first == second
    assert first != Simulation(Setting(32, 2.0), seed=4).run(500, 500)


@pytest.mark.parametrize(("workers", "batch", "job"), [(1, 5.0, 2.0), (8, 0.5, 2.0), (100, 0.52, 10.0), (32, 9.0, 2.0)])
def test_the_queue_is_that_of_the_code(workers: int, batch: float, job: float) -> None:
    study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)))
    asking = AskingAhead(study, None, wake=lambda: None, show=lambda _: None)
    asking._seconds, asking._ended, asking._suggester = 3 * job, 3, Suggester(study)
    asking._suggester.seconds = batch
    assert Setting(workers, job).queue(batch, job) == asking._expected(workers, None)
    asking.close()
