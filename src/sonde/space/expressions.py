"""Expressions of ``where``: checked, compiled once, and evaluated with bounded cost.

An expression may come from a database or a file of somebody else. So it can use only the parameters, and little memory
and time. Its names and operations are checked when it is read. Operators whose result can be far larger than their
operands (``*``, ``**``, ``%`` of a text, ``+`` of texts and lists, ``round``) are replaced by functions that check the
operands first::

    a * b <= 100      is compiled as      product(a, b) <= 100

Parts without a parameter are evaluated when the expression is read, so that ``9**9**9 > x`` is refused at once.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

from sonde.errors import SpaceError

MAX_CHARACTERS = 50_000  # of the expression
MAX_DEPTH = 500  # of nested operations; a sum of many terms is one
MAX_BITS = 1_024  # of a whole number: what a float can hold
MAX_TEXT = 100_000
MAX_ITEMS = 1_000  # of lists and tuples, with those inside
MAX_DIGITS = 400  # that round() may be asked for

_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
    ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.IfExp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.List, ast.Tuple,
)  # fmt: skip


_COMPOSED = (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call, ast.List, ast.Tuple)
_GROWING = (str, bytes, list, tuple)


class TooLarge(Exception):
    """An expression exceeds a bound; the message says which."""


def check(text: str, names: tuple[str, ...]) -> None:
    """Raise ``SpaceError`` unless the text is an expression of these parameters, within the bounds."""
    try:
        tree = _parse(text)
        for node in ast.walk(tree):
            _check_node(node, names, text)
        for part in list(_constant_parts(tree)):
            _try_out(part)
        _compiled(text)
    except (TooLarge, MemoryError, RecursionError) as error:
        raise too_large(text, error) from None


def evaluate(text: str, configuration: Mapping[str, Any]) -> Any:
    """Return the value of an expression at a configuration; raise ``TooLarge`` if it exceeds a bound."""
    # Parameters are looked up first: one may be called min.
    local = configuration if type(configuration) is dict else dict(configuration)
    try:
        return eval(_compiled(text), _GLOBALS, local)
    except (OverflowError, MemoryError, RecursionError) as error:
        raise TooLarge(_reason(error)) from None


def too_large(text: str, error: BaseException, at: Mapping[str, Any] | None = None) -> SpaceError:
    """Return the error for an expression that exceeds a bound."""
    place = "" if at is None else f" at {dict(at)}"
    return SpaceError(f"where({_short(text)}) is too large: {_reason(error)}{place}; write a simpler condition")


# Operators and functions that check their operands first


def _product(left: Any, right: Any) -> Any:
    if type(left) is float or type(right) is float:
        return left * right
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MAX_BITS:
            raise TooLarge(f"a product of more than {MAX_BITS} bits")
    elif isinstance(right, int):
        _check_size(left, right)
    elif isinstance(left, int):
        _check_size(right, left)
    return left * right


def _power(left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and (left.bit_length() - 1) * right >= MAX_BITS:
        raise TooLarge(f"a power of more than {MAX_BITS} bits")
    return left**right


def _total(first: Any, *terms: Any) -> Any:
    for term in terms:
        first = first + term
        if isinstance(first, _GROWING):
            _check_size(first)
    return first


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, str | bytes):
        raise TooLarge("text formatted with %, which may have any length")
    return left % right


def _round(number: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > MAX_DIGITS:
        raise TooLarge(f"round() to more than {MAX_DIGITS} digits")
    return round(number, digits)


def _check_size(value: Any, times: int = 1) -> None:
    if isinstance(value, str | bytes) and len(value) * times > MAX_TEXT:
        raise TooLarge(f"text of more than {MAX_TEXT:,} characters")
    if isinstance(value, list | tuple) and _items(value, MAX_ITEMS) * times > MAX_ITEMS:
        raise TooLarge(f"more than {MAX_ITEMS:,} items")


def _items(value: list[Any] | tuple[Any, ...], most: int) -> int:
    """Count items, with those of lists inside; stop when there are more than ``most``."""
    count, left = 0, [value]
    while left and count <= most:
        items = left.pop()
        count += len(items)
        left.extend(item for item in items[: most + 1] if isinstance(item, list | tuple))
    return count


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "round": _round, "len": len, "sum": sum,
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10,
}  # fmt: skip

# The names contain a space, so no expression can use them.
_CHECKED: dict[type[ast.operator], tuple[str, Callable[..., Any]]] = {
    ast.Mult: ("checked *", _product),
    ast.Pow: ("checked **", _power),
    ast.Add: ("checked +", _total),
    ast.Mod: ("checked %", _remainder),
}
_GLOBALS: dict[str, Any] = {"__builtins__": {}} | FUNCTIONS | dict(_CHECKED.values())


# Reading


@lru_cache(maxsize=256)  # not kept on the constraint: a code object cannot be pickled
def _compiled(text: str) -> CodeType:
    return _code(_parse(text))


def _parse(text: str) -> ast.Expression:
    if len(text) > MAX_CHARACTERS:
        raise TooLarge(f"it has {len(text):,} characters, and {MAX_CHARACTERS:,} is the most")
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise SpaceError(f"where({_short(text)}) is not an expression: {error.msg}") from None
    except ValueError as error:  # null bytes, lone surrogates
        raise SpaceError(f"where({_short(text)}) is not an expression: {error}") from None


def _check_node(node: ast.AST, names: tuple[str, ...], text: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise SpaceError(
            f"where({_short(text)}) uses {type(node).__name__}; only arithmetic and comparisons are allowed"
        )
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
        raise SpaceError(f"where({_short(text)}) calls something else than {', '.join(FUNCTIONS)}")
    if isinstance(node, ast.Name) and node.id not in names and node.id not in FUNCTIONS:
        raise SpaceError(f"where({_short(text)}) names {node.id!r}; the parameters are {', '.join(names)}")
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
        raise TooLarge(f"a number of more than {MAX_BITS} bits")


def _check_depth(tree: ast.AST) -> None:
    """Check level by level: a recursive walk would itself go too deep."""
    level, depth = [tree], 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
        if depth > MAX_DEPTH:
            raise TooLarge(f"it is nested more than {MAX_DEPTH:,} deep")


def _constant_parts(tree: ast.Expression) -> Iterator[ast.expr]:
    """Go through the largest parts that mention no parameter, and the constant digits of ``round``."""
    varying: set[int] = set()
    for node in reversed(list(ast.walk(tree))):  # children before their parents
        named = isinstance(node, ast.Name) and node.id not in FUNCTIONS
        if named or any(id(child) in varying for child in ast.iter_child_nodes(node)):
            varying.add(id(node))
            constant = [child for child in ast.iter_child_nodes(node) if id(child) not in varying]
            yield from (child for child in constant if isinstance(child, _COMPOSED))
            if isinstance(node, ast.Call) and len(node.args) == 2 and node.args[1] in constant:
                zero = ast.copy_location(ast.Constant(0), node)
                yield ast.copy_location(ast.Call(node.func, [zero, node.args[1]], []), node)
    if id(tree) not in varying:
        yield tree.body


def _try_out(part: ast.expr) -> None:
    """Evaluate a part without parameters; other errors are raised when the expression is evaluated."""
    code = _code(ast.Expression(part))
    try:
        eval(code, _GLOBALS, {})
    except TooLarge:
        raise
    except (OverflowError, MemoryError, RecursionError) as error:
        raise TooLarge(_reason(error)) from None
    except Exception:
        return


def _code(tree: ast.Expression) -> CodeType:
    checked = _with_checks(tree)
    _check_depth(checked)
    return compile(checked, "<where>", "eval")


def _with_checks(tree: ast.Expression) -> ast.Expression:
    """Return the tree with its operators replaced by functions that check the operands first."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [_checked(item) for item in value]
            elif isinstance(value, ast.BinOp):
                setattr(node, name, _checked(value))
        left.extend(ast.iter_child_nodes(node))
    return tree


def _checked(node: Any) -> Any:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _CHECKED:
        return node
    name, _ = _CHECKED[type(node.op)]
    function = ast.copy_location(ast.Name(name, ast.Load()), node)
    operands = _terms(node) if isinstance(node.op, ast.Add) else [node.left, node.right]
    return ast.copy_location(ast.Call(function, operands, []), node)


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return the terms of a sum: ((a + b) + c) + d has four."""
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        terms.append(node.right)
        node = node.left
    return [node, *reversed(terms)]


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, OverflowError):
        return "a number beyond what a float can hold"
    return str(error) or "it takes more memory than there is"


def _short(text: str) -> str:
    return repr(text) if len(text) <= 200 else repr(text[:80]) + "..."
