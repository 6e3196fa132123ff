"""What people write instead of a space: dicts of short forms, bounds, spaces of other libraries."""

from __future__ import annotations

import math
from typing import Any

import ConfigSpace as CS
import numpy as np
import optuna
import pytest
import scipy.optimize
import scipy.stats

import sonde
from sonde.errors import SpaceError
from sonde.space import Bool, Categorical, Float, Int, Parameter, Space

DISTRIBUTIONS = optuna.distributions


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ((1e-5, 1e-1, "log"), Float(1e-5, 1e-1, log=True)),
        ((0.0, 1), Float(0, 1)),
        ((np.float64(0), np.float64(1)), Float(0, 1)),
        (range(1, 9), Int(1, 8)),
        (range(16, 65, 16), Int(16, 64, step=16)),
        (range(8, 0, -1), Int(1, 8)),
        (range(3, 4), Int(3, 3)),
        (["sgd", "adam"], Categorical(["sgd", "adam"])),
        (("sgd", "adam"), Categorical(["sgd", "adam"])),
        ({"sgd", "adam"}, Categorical(["adam", "sgd"])),
        ([16, 32, 64], Categorical([16, 32, 64])),
        (np.array([0.1, 1.0, 10.0]), Categorical([0.1, 1.0, 10.0])),
        (bool, Bool()),
        (Bool, Bool()),
        (Int(1, 3), Int(1, 3)),
        ({"type": "int", "low": 1, "high": 3}, Int(1, 3)),
        (scipy.stats.uniform(2, 3), Float(2, 5)),
        (scipy.stats.loguniform(1e-3, 1), Float(1e-3, 1, log=True)),
        (scipy.stats.randint(1, 5), Int(1, 4)),
        (DISTRIBUTIONS.FloatDistribution(0.1, 1, log=True), Float(0.1, 1, log=True)),
        (DISTRIBUTIONS.FloatDistribution(0, 1, step=0.25), Float(0, 1, step=0.25)),
        (DISTRIBUTIONS.IntDistribution(1, 9, step=2), Int(1, 9, step=2)),
        (DISTRIBUTIONS.CategoricalDistribution([None, "x"]), Categorical([None, "x"])),
    ],
)
def test_a_parameter_in_a_short_form(given: Any, meant: Parameter) -> None:
    assert Space({"p": given}) == Space(p=given) == Space.of({"p": given}) == Space(p=meant)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((1, 8), ["range(1, 9)", "(1.0, 8.0)"]),
        ((1, 8, "log"), ["sonde.Int(1, 8, log=True)", '(1.0, 8.0, "log")']),
        ((1.0, 2.0, 3.0), ["choices go in a list: [1.0, 2.0, 3.0]"]),
        ((5.0, 1.0), ["swap them"]),
        ((0.0, math.inf), ["finite"]),
        ((0.0, 1.0, "log"), ["low > 0"]),
        (range(5, 5), ["empty"]),
        ([], ["at least one value"]),
        ("sgd", ["sonde.Float(", "range(1, 9)"]),
        (scipy.stats.norm(0, 1), ["norm", "sonde.Float(-2.576, 2.576)"]),
        (scipy.stats.poisson(4), ["poisson", "sonde.Int("]),
        (scipy.stats.uniform, ["uniform", "call it"]),
        ({"rate": (0.0, 1.0)}, ["not nested", "'p.rate'"]),
    ],
)
def test_what_is_unclear_is_refused_with_what_to_write(given: Any, says: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        Space({"p": given})
    assert [part for part in ["parameter 'p'", *says] if part not in str(caught.value)] == []


@pytest.mark.parametrize("given", [[0.0, 0.5], np.array([0.0, 0.5])], ids=repr)
def test_two_numbers_in_a_list_are_warned_of(given: Any) -> None:
    with pytest.warns(UserWarning, match=r"'p': \[0.0, 0.5\] is a choice of two values; .* write \(0.0, 0.5\)"):
        space = Space({"p": given})
    assert space == Space(p=Categorical([0.0, 0.5]))  # written so, nothing is warned of


@pytest.mark.parametrize(
    "given",
    [
        [(-5, 5), (0, 1.5)],
        ((-5, 5), (0, 1.5)),
        [[-5, 5], [0, 1.5]],
        np.array([[-5, 5], [0, 1.5]]),
        scipy.optimize.Bounds([-5, 0], [5, 1.5]),
    ],
)
def test_bounds(given: Any) -> None:
    space = Space.of(given)
    assert dict(space) == {"x0": Float(-5, 5), "x1": Float(0, 1.5)}
    assert space.is_vector
    assert Space.from_json(space.to_json()).is_vector
    assert space.where("x0 + x1 <= 3").is_vector
    assert not Space(x0=Float(-5, 5)).is_vector


def test_one_bound_for_all() -> None:
    assert len(Space.of(scipy.optimize.Bounds(0, [1, 2, 3]))) == 3


@pytest.mark.parametrize("given", ["abc", 5, None, [], [(1,)], [(1, 2, 3)], [("a", "b")], Float(0, 1)])
def test_what_is_no_space_is_refused_with_examples(given: Any) -> None:
    with pytest.raises(SpaceError, match=r'a space is a dict .*"log"\).*\[\(-5, 5\)'):
        Space.of(given)


@pytest.mark.parametrize("given", [[(0, math.inf)], [(0, None)], scipy.optimize.Bounds()], ids=str)
def test_bounds_that_cannot_be_searched(given: Any) -> None:
    with pytest.raises(SpaceError, match="finite"):
        Space.of(given)


def test_a_parsed_file_is_a_space() -> None:
    data = {"parameters": {"n": {"type": "int", "low": 1, "high": 3}}, "where": ["n <= 2"]}
    assert Space.of(data) == Space(n=Int(1, 3)).where("n <= 2")
    assert Space.of({"parameters": {"type": "bool"}}) == Space(parameters=Bool())


def test_a_space_of_configspace() -> None:
    given = CS.ConfigurationSpace({"a": (0.1, 1.0), "b": (1, 5), "c": ["x", "y", "z"]})
    given.add(
        CS.Integer("units", (8, 512), log=True), CS.OrdinalHyperparameter("size", ["s", "m"]), CS.Constant("k", 3)
    )
    given.add(CS.EqualsCondition(given["a"], given["c"], "x"), CS.NotEqualsCondition(given["units"], given["c"], "z"))
    given.add(
        CS.ForbiddenAndConjunction(CS.ForbiddenEqualsClause(given["b"], 2), CS.ForbiddenInClause(given["c"], ["x"]))
    )
    space = Space.of(given)
    assert dict(space) == {
        "b": Int(1, 5),
        "c": Categorical(["x", "y", "z"]),
        "k": Categorical([3]),
        "size": Categorical(["s", "m"]),
        "a": Float(0.1, 1, when={"c": ["x"]}),
        "units": Int(8, 512, log=True, when={"c": ["x", "y"]}),
    }
    allowed = {"b": 2, "c": "z", "k": 3, "size": "s"}
    assert allowed in space
    assert {**allowed, "c": "x", "a": 0.5, "units": 9} not in space
    assert {**allowed, "b": 3, "c": "x", "a": 0.5, "units": 9} in space
    # every configuration that ConfigSpace draws belongs to the space
    assert all(dict(drawn) in space for drawn in given.sample_configuration(50))


def test_conditions_without_a_counterpart_are_refused() -> None:
    given = CS.ConfigurationSpace({"a": (0.1, 1.0), "b": (1, 5)})
    given.add(CS.GreaterThanCondition(given["a"], given["b"], 2))
    with pytest.raises(SpaceError, match=r"condition .*when="):
        Space.of(given)


def test_every_door_takes_short_forms() -> None:
    result = sonde.minimize(lambda trial: trial["x"] ** 2, {"x": (-1.0, 1.0)}, 3, strategy="random", progress=False)
    assert result.study.space == Space(x=Float(-1, 1))
    assert sonde.Study([(0, 1)] * 2).space.names == ("x0", "x1")
