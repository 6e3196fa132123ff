from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sonde.cli.space_file import read_space
from sonde.cli.template import argument_text, parse
from sonde.errors import OptionError, SpaceError

# argument with placeholders for a = 1 and b = "x y"; what becomes of it
RENDERED = {
    "plain": "plain",
    "": "",
    "{a}": "1",
    "--a={a}": "--a=1",
    "{a}{b}": "1x y",
    "{{}}": "{}",
    "{{a}}": "{a}",
    "{{{a}}}": "{1}",
    '{{"a": {a}, "b": "{b}"}}': '{"a": 1, "b": "x y"}',
    "awk '{{print $1}}'": "awk '{print $1}'",
    "}}{{": "}{",
}


@pytest.mark.parametrize("argument", RENDERED)
def test_placeholders_become_values_and_double_braces_single(argument: str) -> None:
    template = parse(["prog", argument], known=["a", "b"])
    assert template.render({"a": 1, "b": "x y"}) == ["prog", RENDERED[argument]]
    assert template.parameters == {}


def test_a_definition_stands_for_its_value_and_a_bare_name_repeats_it() -> None:
    template = parse(["prog", "{seed}", "--seed={seed:int:0..9}", "out-{seed}-{opt:a|b}"])
    assert list(template.parameters) == ["seed", "opt"]
    assert template.render({"seed": 3, "opt": "b"}) == ["prog", "3", "--seed=3", "out-3-b"]


def test_a_name_of_the_space_file_may_hold_anything() -> None:
    assert parse(["prog", "{a b:c}"], known=["a b:c"]).render({"a b:c": 5}) == ["prog", "5"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (0.1, "0.1"), (1e-5, "1e-05"), (1 / 3, "0.3333333333333333"), (3, "3"),
     ("a b", "a b"), (None, "None")],
)  # fmt: skip
def test_values_as_arguments(value: Any, text: str) -> None:
    assert argument_text(value) == text


# arguments; what is left of them when x is inactive and a = 1
DROPPED = [
    (["--x={x}", "--a={a}"], ["--a=1"]),
    (["--x", "{x}", "--a", "{a}"], ["--a", "1"]),
    (["-x", "{x}", "end"], ["end"]),
    (["file", "{x}"], ["file"]),
    (["--out", "dir-{x}"], ["--out"]),
    (["--verbose=1", "{x}"], ["--verbose=1"]),
    (["--", "{x}"], ["--"]),
    (["{a}", "{x}"], ["1"]),
    (["--{a}", "{x}"], []),
    (["--{x}", "{a}"], ["1"]),
    (["--p", "{x}", "{x}"], []),
    (["{x}"], []),
    (["--both={a},{x}"], []),
]


@pytest.mark.parametrize(("arguments", "left"), DROPPED)
def test_an_inactive_parameter_takes_its_argument_with_it(arguments: list[str], left: list[str]) -> None:
    assert parse(["prog", *arguments], known=["a", "x"]).render({"a": 1}) == ["prog", *left]


BAD = {
    "{print}": "placeholder {print}: there is no parameter 'print'",
    "{print $1}": "write {{print $1}} for literal braces",
    "{}": "write {{}} for literal braces",
    "{a:float:0..1}": "'a' is defined already; write {a} here",
    "{b:int:1..2}{b:int:1..2}": "'b' is defined twice; write {b} the second time",
    "{opt:sgd": "in quotes where it holds '|'",
    "adam}": "has a '}' without its partner",
    "{": "a literal brace is written {{",
    "{a{a}}": "has a '{' without its partner",
}


@pytest.mark.parametrize("argument", BAD)
def test_wrong_braces_are_told_with_the_remedy(argument: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(["prog", argument], known=["a"])
    assert BAD[argument] in str(caught.value)


def test_placeholders_and_file_make_one_space(tmp_path: Path) -> None:
    file = tmp_path / "space.toml"
    file.write_text(
        "where = [\"depth <= width\"]\n[parameters.depth]\ntype = 'int'\nlow = 1\nhigh = 8\nwhen = { model = 'net' }\n"
    )
    template, space = read_space(["prog", "{model:net|svm}", "--width={width:int:2..64:log}", "{depth}"], file)
    assert space.names == ("depth", "model", "width")
    assert {"model": "svm", "width": 4} in space
    assert {"model": "net", "width": 4, "depth": 5} not in space
    assert template.render({"model": "svm", "width": 4}) == ["prog", "svm", "--width=4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parameters = [", "is not a TOML file"),
        ("parameters = 3", "'parameters' must hold a table"),
        ("[parameters.x]\ntype = 'real'", "parameter 'x': type must be one of"),
        ("[parameters.x]\ntype = 'int'\nlow = 1", "parameter 'x'"),
        ("[other]\nx = 1\n[parameters.x]\ntype = 'bool'", "not 'other'"),
        ("where = ['y > 1']\n[parameters.x]\ntype = 'bool'", "names 'y'"),
        ("", "has no parameters to tune"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "space.toml"
    file.write_text(text)
    with pytest.raises((OptionError, SpaceError)) as caught:
        read_space(["prog"], file)
    assert message in str(caught.value)


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "space.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="is not a TOML file"):
        read_space(["prog"], file)


@pytest.mark.parametrize("spec", ["float:2..1", "float:0..1:log", "float:0..nan", "int:1..8:step=0", "a|a"])
def test_a_range_that_makes_no_sense_names_its_parameter(spec: str) -> None:
    with pytest.raises(SpaceError, match="parameter 'lr': "):
        read_space(["prog", f"{{lr:{spec}}}"], None)


def test_the_program_must_not_be_conditional(tmp_path: Path) -> None:
    file = tmp_path / "space.toml"
    file.write_text("[parameters.p]\ntype = 'bool'\nwhen = { q = true }\n[parameters.q]\ntype = 'bool'\n")
    with pytest.raises(OptionError, match="the program itself depends on 'p'"):
        read_space(["./{p}", "{q}"], file)


def test_a_parameter_outside_the_table_of_parameters_is_refused_by_file(tmp_path: Path) -> None:
    file = tmp_path / "space.toml"
    file.write_text("[x]\ntype = 'bool'\n")
    with pytest.raises(SpaceError, match=r"space\.toml has 'parameters' and 'where', not 'x'"):
        read_space(["echo", "{x}"], file)
