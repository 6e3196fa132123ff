from __future__ import annotations

import pytest

import sonde
from sonde.strategies.sobol import Sobol
from sonde.study.drawing import best_so_far, large
from sonde.study.live import LiveFigure
from sonde.trials import History

SPACE = sonde.Space(x=sonde.Float(0, 1), kind=sonde.Categorical(["a", "b"]), k=sonde.Int(1, 5, when={"kind": "b"}))
HOSTILE = "</script><b>שלום😀" + "n" * 200


def shown(study: sonde.Study) -> str:
    return study._repr_html_()


def test_an_empty_study() -> None:
    text = shown(sonde.Study(SPACE, name=HOSTILE, seed=0))
    assert "none yet" in text
    assert "sobol, because there are too few results to learn from" in text
    assert "<b>" not in text
    assert "<svg" not in text


def test_a_study_says_goal_counts_best_and_who_suggests() -> None:
    study = sonde.Study(SPACE, direction="maximize", seed=0)
    study.add_trials([{"params": {"x": 0.25, "kind": "b", "k": 3}, "value": 7.0}])
    study.add_trials(
        [{"params": {"x": 0.5, "kind": "a"}, "value": 5.0}, {"params": {"x": 1, "kind": "a"}, "failed": "no"}]
    )
    text = shown(study)
    assert "maximize over 3 parameters" in text
    assert "3 (2 completed, 1 failed)" in text
    assert "7 in trial 0" in text
    assert "0.25" in text
    assert "best value after each trial" in text


class Slow(Sobol):
    """May not be asked for what takes long."""

    def model(self, space: sonde.Space, history: History) -> None:
        raise AssertionError

    def explain(self, space: sonde.Space, history: History) -> str:
        raise AssertionError


def test_nothing_is_fitted_for_it() -> None:
    study = sonde.Study(SPACE, seed=0, strategy=Slow())
    study.add_trials([{"params": {"x": x / 10, "kind": "a"}, "value": x, "noise": 0.1} for x in range(10)])
    text = shown(study)
    assert "AssertionError" not in text
    assert "study.best_trial asks the model" in text
    assert "sobol" in text


def test_several_objectives_are_drawn_in_their_plane() -> None:
    study = sonde.Study(SPACE, objectives={"loss": "minimize", "<gain>": "maximize"}, seed=0)
    assert "<svg" not in shown(study)
    study.optimize(lambda trial: {"loss": trial["x"], "<gain>": trial["x"]}, 5, progress=False)
    text = shown(study)
    assert "5 trials that no other one dominates" in text
    assert "&lt;gain&gt; (up) over loss (right)" in text


def test_only_failures() -> None:
    study = sonde.Study(SPACE, seed=0)
    study.tell(study.ask(), failed="no GPU")
    assert "1 (1 failed)" in shown(study)
    assert large(study.history) == "<i>no result yet</i>"
    assert "no GPU" in study.trial(0)._repr_html_()


def test_a_study_that_cannot_be_read_says_why(sqlite_url: str) -> None:
    study = sonde.Study(SPACE, storage=sqlite_url, name="gone", seed=0)
    sonde.delete(sqlite_url, "gone")
    assert "StudyNotFound" in shown(study)


def test_a_study_of_many_parameters_shows_some() -> None:
    space = sonde.Space({f"p{i}": sonde.Float(0, 1) for i in range(500)})
    study = sonde.Study(space, seed=0)
    study.tell(study.ask(), 1.0)
    assert "and 488 more" in shown(study)


def test_the_best_so_far_leaves_out_what_breaks_a_constraint() -> None:
    study = sonde.Study(SPACE, seed=0)
    for value, level in ((3.0, -1.0), (1.0, 1.0), (2.0, 0.0)):
        study.tell(study.ask(), value, constraints={"size": level})
    study.tell(study.ask(), failed="no")
    assert best_so_far(study.history).tolist() == [3.0, 3.0, 2.0, 2.0]


def test_a_trial_shows_its_curve() -> None:
    study = sonde.Study(SPACE, seed=0)
    trial = study.ask()
    for step in range(5):
        trial.report(step, 1 / (step + 1))
    study.tell(trial, 0.2)
    assert "what it reported, by step" in study.trial(0)._repr_html_()


def test_the_live_figure_is_not_drawn_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    study = sonde.Study(SPACE, seed=0)
    figure = LiveFigure()
    drawings: list[object] = []
    figure._widget.observe(drawings.append, "value")
    figure.draw(study.history)
    for x in (0.1, 0.2, 0.3):
        study.add_trials([{"params": {"x": x, "kind": "a"}, "value": x}])
        figure.draw(study.history)
    assert len(drawings) == 1
    figure.finish()
    assert len(drawings) == 2
    capsys.readouterr()
