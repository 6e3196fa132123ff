from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from sonde.errors import ConfigurationError, SpaceError
from sonde.space import Bool, Categorical, Float, Int, Space

SPACE = Space(
    {
        "a": Int(0, 5),
        "b": Int(0, 5),
        "x": Float(0, 1),
        "kind": Categorical(["plain", "deep"]),
        "deep": Int(1, 9, when={"kind": "deep"}),
    }
)
PLAIN = {"a": 2, "b": 3, "x": 0.5, "kind": "plain"}
DEEP = PLAIN | {"kind": "deep", "deep": 4}


def narrow(p: Mapping[str, Any]) -> bool:
    return bool(p["a"] + p["b"] <= 5)


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("a + b <= 5", True),
        ("a + b < 5", False),
        ("a < b < 4 and not x > 0.7", True),
        ("kind in ['plain', 'shallow']", True),
        ("kind == 'deep' or b == 3", True),
        ("max(a, b) ** 2 // 2 % 3 == 1", True),
        ("sqrt(abs(a - b)) + log2(4) - exp(0) == 2", True),
        ("(a if x > 0.4 else b) == 2", True),
        ("len(kind) == 5", True),
        ("sum([a, b]) != round(4.6)", False),
        ("-a + +b > 1", False),
        ("1", True),
    ],
)
def test_expressions(expression: str, holds: bool) -> None:
    space = SPACE.where(expression)
    assert (PLAIN in space) is holds
    assert space.feasible(PLAIN) is holds
    assert space.feasible_rows(SPACE.row(PLAIN)[None]).tolist() == [holds]


def test_functions() -> None:
    space = SPACE.where(narrow).where(lambda p: p["x"] > 0.1)
    assert PLAIN in space
    assert PLAIN | {"a": 5} not in space
    assert PLAIN | {"x": 0.0} not in space


def test_where_leaves_the_space_it_was_called_on_as_it_was() -> None:
    restricted = SPACE.where("a > 4")
    assert PLAIN in SPACE
    assert PLAIN not in restricted
    assert SPACE.constraints == ()
    assert restricted != SPACE


def test_a_broken_constraint_is_named_with_the_configuration() -> None:
    with pytest.raises(ConfigurationError) as caught:
        SPACE.where("a <= 5").where("a + b < 5").validate(PLAIN)
    assert "a + b < 5" in str(caught.value)
    assert "'a': 2, 'b': 3" in str(caught.value)


@pytest.mark.parametrize("predicate", ["deep <= 3", lambda p: p["deep"] <= 3])
def test_a_constraint_about_an_inactive_parameter_does_not_apply(predicate: Any) -> None:
    space = SPACE.where(predicate)
    assert PLAIN in space
    assert DEEP not in space
    assert DEEP | {"deep": 3} in space


def test_configurations_meet_the_constraints() -> None:
    space = Space(a=Int(0, 3), b=Int(0, 3), on=Bool()).where("a + b <= 2").where(lambda p: p["on"] or p["a"] == 0)
    listed = list(space.configurations())
    expected = [
        {"a": a, "b": b, "on": on}
        for a in range(4)
        for b in range(4)
        for on in (False, True)
        if a + b <= 2 and (on or a == 0)
    ]
    assert sorted(map(str, listed)) == sorted(map(str, expected))
    assert space.size == 32  # of the ranges: where may leave fewer


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("c <= 3", ["'c'", "a, b, x, kind, deep"]),
        ("a.real > 1", ["Attribute", "arithmetic"]),
        ("().__class__.__bases__", ["Attribute"]),
        ("lambda: a", ["Lambda"]),
        ("(lambda: 1)() == 1", ["calls something else"]),
        ("__import__('os').getcwd() == ''", ["__import__"]),
        ("__import__('os')", ["__import__"]),
        ("__builtins__", ["'__builtins__'"]),
        ("open('/etc/passwd')", ["calls something else", "sqrt"]),
        ("a(1)", ["calls something else"]),
        ("max(a, b)(1)", ["calls something else"]),
        ("[i for i in [1]]", ["ListComp"]),
        ("(a := 3) > 1", ["NamedExpr"]),
        ("f'{a}' == '1'", ["JoinedStr"]),
        ("min(a, key=b)", ["keyword"]),
        ("max(*kind)", ["Starred"]),
        ("kind[0] == 'p'", ["Subscript"]),
        ("{1: a}", ["Dict"]),
        ("await a", ["Await"]),
        ("a = 3", ["not an expression"]),
        ("import os", ["not an expression"]),
        ("a <=", ["not an expression"]),
        ("", ["not an expression"]),
        ("a\0", ["not an expression"]),
    ],
)
def test_anything_but_arithmetic_on_known_names_is_refused(expression: str, said: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        SPACE.where(expression)
    assert [part for part in [repr(expression), *said] if part not in str(caught.value)] == []


@pytest.mark.parametrize("predicate", [3, None, ["a > 1"]])
def test_a_predicate_is_a_function_or_an_expression(predicate: Any) -> None:
    with pytest.raises(SpaceError, match=r"where\(\) takes a function of the parameters or an expression, got"):
        SPACE.where(predicate)


def raise_bare_key_error(p: Mapping[str, Any]) -> bool:
    raise KeyError


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("a / (b - 3) > 1", ["a / (b - 3) > 1", "ZeroDivisionError"]),
        ("a + kind > 1", ["TypeError"]),
        (lambda p: p["nowhere"] > 1, ["<lambda>", "KeyError", "nowhere"]),
        (lambda p: p["a"].nothing, ["AttributeError"]),
        (lambda p: nowhere, ["NameError"]),  # noqa: F821
        (raise_bare_key_error, ["raise_bare_key_error", "KeyError"]),
        ({"deep": 1}.__getitem__, ["TypeError"]),
    ],
)
def test_a_predicate_that_raises_is_reported_with_the_configuration(predicate: Any, said: list[str]) -> None:
    space = SPACE.where(predicate)
    with pytest.raises(SpaceError) as caught:
        space.feasible(PLAIN)
    assert [part for part in [*said, "'a': 2", "'kind': 'plain'"] if part not in str(caught.value)] == []
    with pytest.raises(SpaceError):
        PLAIN in space  # noqa: B015


def test_expressions_come_back_from_json() -> None:
    space = SPACE.where("a + b <= 5").where("deep < 9 or kind != 'deep'")
    again = Space.from_json(space.to_json())
    assert again == space
    assert again.to_json() == space.to_json()
    assert PLAIN in again
    assert PLAIN | {"a": 5} not in again


def test_a_function_comes_back_by_name_and_says_what_to_do_when_it_is_needed() -> None:
    again = Space.from_json(SPACE.where("a < 5").where(narrow).to_json())
    assert [constraint.known for constraint in again.constraints] == [True, False]
    with pytest.raises(SpaceError) as caught:
        again.validate(PLAIN)
    assert "narrow" in str(caught.value)
    assert "sonde.Study(space, ...)" in str(caught.value)
    assert again.to_json() == SPACE.where("a < 5").where(narrow).to_json()


def test_an_expression_in_a_stored_space_is_checked_like_any_other() -> None:
    with pytest.raises(SpaceError, match="Attribute"):
        Space.from_data({"parameters": {"a": {"type": "bool"}}, "where": ["a.__class__"]})


def test_a_space_travels_to_another_process_after_use() -> None:
    space = SPACE.where("a + b <= 5").where(narrow)
    assert PLAIN in space
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert PLAIN | {"a": 5} not in again
