"""``sonde tell``: the result of a trial that ``sonde ask`` gave, from options or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sonde.cli import completing, output
from sonde.cli.objectives import as_number, numbers_in
from sonde.cli.opening import existing_study
from sonde.cli.options import anywhere_option, json_option, name_option, token_option
from sonde.errors import OptionError, UnknownTrial

if TYPE_CHECKING:
    from sonde.study import Study
    from sonde.trials import Trial

_STDIN = "-"
_RESULT = ("value", "gradient", "hessian", "noise", "constraints", "failed", "stopped", "attributes")
_KEYS = ("trial", "token", "params", *_RESULT)


class Told(NamedTuple):
    """What is told of one trial, as arguments of ``Study.tell``."""

    trial: int
    token: str | None
    params: Mapping[str, Any] | None
    result: Mapping[str, Any]


# Click takes a negative value for an unknown option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("number", metavar="NUMBER|-")
@click.argument("words", metavar="[VALUE]", nargs=-1, type=click.UNPROCESSED)
@click.option("--failed", metavar="REASON", help="The trial has failed, and why.")
@click.option("--stopped", is_flag=True, help="The trial was ended early, for its learning curve.")
@click.option(
    "--objective", "objectives", metavar="NAME=NUMBER", multiple=True, shell_complete=completing.objectives,
    help="The value of one of several objectives; repeated.",
)  # fmt: skip
@click.option("--noise", metavar="NUMBER", type=float, help="Standard deviation of the value.")
@click.option(
    "--constraint", "constraints", metavar="NAME=NUMBER", multiple=True,
    help="A measured constraint, at most zero where it is met; may be repeated.",
)  # fmt: skip
@click.option(
    "--gradient", "gradient", metavar="NAME=NUMBER", multiple=True, shell_complete=completing.parameters,
    help="The derivative by a parameter; may be repeated.",
)  # fmt: skip
@click.option(
    "--trial-token", metavar="TOKEN", help="The trial's token, as sonde ask printed it: no other trial is told."
)
@anywhere_option
@token_option
@name_option
@json_option
def tell(
    number: str, words: tuple[str, ...], failed: str | None, stopped: bool, objectives: tuple[str, ...],
    noise: float | None, constraints: tuple[str, ...], gradient: tuple[str, ...], trial_token: str | None,
    storage: str, name: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Tell the result of a trial; it is on disk when this ends. The same result again changes nothing.

    With - instead of a number, results are read from standard input: a JSON object, or a list of them, with trial (the
    number), token, value, gradient, hessian, noise, constraints, failed, stopped and attributes, as for the service.

    \b
    Examples:
      sonde tell 3 0.25
      sonde tell 3 -1e-3 --noise 0.01 --gradient lr=-2.5
      sonde tell 4 --failed 'out of memory'
      sonde tell 5 --objective loss=0.3 --objective latency=12
      echo '{"trial": 6, "value": 0.25}' | sonde tell -
    """
    result = {
        "value": _value(words, objectives),
        "failed": failed,
        "stopped": stopped,
        "noise": noise,
        "constraints": numbers_in(constraints, "--constraint", "memory=-0.5") or None,
        "gradient": numbers_in(gradient, "--gradient", "lr=-2.5") or None,
    }
    given = {name: told for name, told in result.items() if told is not None and told is not False}
    if number != _STDIN and given.keys().isdisjoint(("value", "failed", "stopped")):
        raise OptionError("give the value of the trial, or --failed REASON, or --stopped")
    told = _from_stdin(given, trial_token) if number == _STDIN else [Told(_number(number), trial_token, None, given)]
    with existing_study(storage, name) as study:
        trials = [_tell(study, one) for one in told]
        if as_json:
            from sonde.study.export import document

            documents = [document(trial, study.space) for trial in trials]
            output.print_json(documents if len(documents) != 1 else documents[0])
            return
        for trial in trials:
            output.notice(_said(trial))


def _tell(study: Study, told: Told) -> Trial:
    """Tell one result. With a token it is told under that token; a number may have been given again after a crash."""
    if told.token is None:
        return study.tell(told.trial, **told.result)
    return study.tell(_named(study, told.trial, told.token, told.params), **told.result)


def _named(study: Study, number: int, token: str, params: Mapping[str, Any] | None) -> Trial:
    """Return a trial with its token; with its parameters it may be unknown to the database, which lost it."""
    from sonde.study.telling import Importer
    from sonde.trials import Trial

    if params is not None:
        known = Importer(study.space).configuration(params)
        study.space.row(known)  # raises if it is no configuration of the space
        return Trial(number, known, token=token)
    found = study.trial(number)
    if found.token != token:
        raise UnknownTrial(f"trial {number} has another token; tell the number and the token that sonde ask printed")
    return found


def _value(words: Sequence[str], objectives: Sequence[str]) -> float | dict[str, float] | None:
    if not words:
        return numbers_in(objectives, "--objective", "loss=0.3") or None
    for word in words:
        if as_number(word) is None:
            raise click.UsageError(f"no such option: {word}" if word.startswith("-") else f"{word!r} is not a number")
    if len(words) > 1:
        raise click.UsageError(f"a trial has one value, got {' '.join(words)}; several objectives have --objective")
    if objectives:
        raise OptionError("give a value for one objective or --objective for each of several, not both")
    return as_number(words[0])


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise OptionError(f"the trial must be a number, or - for JSON on standard input, got {text!r}")
    return int(text)


def _from_stdin(given: Mapping[str, Any], token: str | None) -> list[Told]:
    """Return the results on standard input."""
    if given or token is not None:
        raise OptionError("with - all that is told comes from standard input; leave out the other options")
    try:
        data = json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError) as error:
        raise OptionError(f'standard input is no JSON such as {{"trial": 3, "value": 0.25}}: {error}') from None
    return [_read(one) for one in (data if isinstance(data, list) else [data])]


def _read(data: Any) -> Told:
    if not isinstance(data, dict) or isinstance(data.get("trial"), bool) or not isinstance(data.get("trial"), int):
        raise OptionError(f'a result is an object such as {{"trial": 3, "value": 0.25}}, got {_short(data)}')
    unknown = sorted(set(data) - set(_KEYS))
    if unknown:
        raise OptionError(f"a result has no key {unknown[0]!r}; it may have {', '.join(_KEYS)}")
    token, params = data.get("token"), data.get("params")
    if not isinstance(token, str | None) or not isinstance(params, dict | None):
        raise OptionError(f"token must be text, and params an object by name, got {_short(data)}")
    result = {name: data[name] for name in _RESULT if data.get(name) is not None}
    if not isinstance(result.get("stopped", False), bool):
        raise OptionError(f"stopped must be true or false, got {_short(result['stopped'])}")
    return Told(data["trial"], token, params, result)


def _short(data: Any) -> str:
    text = json.dumps(data)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _said(trial: Trial) -> str:
    from sonde.trials.reason import one_line

    values = trial.value if isinstance(trial.value, Mapping) else {}
    each = ", ".join(f"{name} {value!r}" for name, value in values.items())
    what = one_line(trial.error) if trial.error else each or ("" if trial.value is None else repr(trial.value))
    return f"trial {trial.number} {trial.state}" + (f": {what}" if what else "")
