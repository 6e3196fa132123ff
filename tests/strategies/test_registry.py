from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

from sonde.errors import OptionError
from sonde.space import Float, Space
from sonde.strategies import Strategy, record, resolve_strategy
from sonde.strategies.auto import TABLE, Auto
from sonde.strategies.bayesian.dngo import DNGO
from sonde.strategies.bayesian.gp import GP
from sonde.strategies.first_order.fobo import FOBO
from sonde.strategies.natural_gradient.igo import IGO
from sonde.strategies.random import Random
from sonde.strategies.sobol import Sobol
from sonde.study import Study
from sonde.trials import History


@pytest.mark.parametrize(
    ("name", "kind"),
    [("auto", Auto), ("random", Random), ("dngo", DNGO), ("fobo", FOBO), ("igo", IGO), ("gp", GP), ("sobol", Sobol)],
)
def test_strategies_are_found_by_name(name: str, kind: type) -> None:
    strategy = resolve_strategy(name)
    assert type(strategy) is kind
    assert strategy.name == name


def test_a_strategy_object_is_returned_as_it_is() -> None:
    strategy = Sobol()
    assert resolve_strategy(strategy) is strategy


def test_a_strategy_class_is_made() -> None:
    assert type(resolve_strategy(Sobol)) is Sobol


@pytest.mark.parametrize("unknown", ["tpe", "", "Auto", None, 3, ["auto"], dict])
def test_an_unknown_strategy_is_refused_with_the_known_ones(unknown: Any) -> None:
    with pytest.raises(OptionError) as caught:
        resolve_strategy(unknown)
    assert "auto, random, dngo, fobo, igo, gp, sobol" in str(caught.value)
    assert repr(unknown) in str(caught.value)


def test_auto_explains_which_strategy_it_chose_and_why() -> None:
    space = Space(x=Float(0, 1))
    said = Auto().explain(space, History(space))
    rule = next(rule for rule in TABLE if rule.applies(space, History(space)))
    assert said.startswith(f"{rule.strategy}, because {rule.reason}")


def test_the_last_rule_of_the_table_always_applies() -> None:
    space = Space(x=Float(0, 1))
    assert TABLE[-1].applies(space, History(space))


@pytest.mark.jax  # where it is hidden, nothing can load it
def test_a_first_suggestion_imports_no_heavy_library() -> None:
    code = (
        "import sys, sonde; from sonde.sampling import Key; from sonde.strategies import resolve_strategy\n"
        "from sonde.trials import History; space = sonde.Space(x=sonde.Float(0, 1))\n"
        "resolve_strategy('auto').suggest(space, History(space), 1, Key(0, 0))\n"
        "print(sorted({'scipy', 'jax', 'pandas', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("strategy", "shown"),
    [
        (GP(), "GP()"),
        (GP("ucb"), "GP(acquisition='ucb')"),
        (GP(batch="joint", search="bfgs"), "GP(batch='joint')"),
        (DNGO("networks", networks=4), "DNGO(basis='networks', networks=4)"),
        (FOBO(kernel="rbf"), "FOBO(kernel='rbf')"),
        (IGO(adapt=None, sample_size=8), "IGO(adapt=None, sample_size=8)"),
        (resolve_strategy("sobol"), "Sobol()"),
        (resolve_strategy("auto"), "Auto()"),
    ],
    ids=repr,
)
def test_repr_shows_the_options_that_differ_from_the_defaults(strategy: Strategy, shown: str) -> None:
    assert repr(strategy) == shown
    assert repr(pickle.loads(pickle.dumps(strategy))) == shown
    assert "acquisition" in str(inspect.signature(GP))


@pytest.mark.parametrize(
    ("strategy", "kept"),
    [
        (GP(), "gp"),
        (GP("ucb", batch="joint"), "gp(acquisition='ucb', batch='joint')"),
        (DNGO(device="gpu", networks=4), "dngo(device='gpu', networks=4)"),
        (DNGO.paper(), "dngo_paper"),
        (FOBO.paper(quadratic=True), "fobo_paper(quadratic=True)"),
        (IGO(adapt=None), "igo(adapt=None)"),
    ],
)
def test_a_strategy_as_text_makes_it_again(strategy: Strategy, kept: str) -> None:
    assert record(strategy) == kept
    again = resolve_strategy(kept)
    assert (type(again), again.options) == (type(strategy), strategy.options)


def test_options_that_are_objects_are_left_out_of_the_text() -> None:
    from sonde.acquisition.utilities import UTILITIES

    assert record(GP(acquisition=UTILITIES["pi"], batch="joint")) == "gp(batch='joint')"


@pytest.mark.parametrize(
    "text", ["gp(acquisition=print)", "gp('ucb')", "gp()()", "gp(", "__import__('os')", "gp(**{'batch': 'joint'})"]
)
def test_only_names_and_literal_options_are_read(text: str) -> None:
    with pytest.raises(OptionError, match=r"strategy must be one of|does not know"):
        resolve_strategy(text)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(OptionError, match=r"option that it does not know.*nonsense"):
        resolve_strategy("gp(nonsense=1)")


def test_a_study_continues_with_the_options_it_was_made_with(sqlite_url: str) -> None:
    Study(Space(x=Float(0, 1)), storage=sqlite_url, name="s", strategy=GP("ucb", batch="joint")).close()
    with Study.load(sqlite_url, "s") as study:
        assert "maximises ucb" in _after_ten(study)
    with Study.load(sqlite_url, "s", strategy="gp") as study:
        assert "maximises log_ei" in study.explain()


def _after_ten(study: Study) -> str:
    study.optimize(lambda trial: trial["x"], 12, progress=False)
    return study.explain()
