"""Words of other libraries, with ours: what people type first works, or says what to type."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MINIMIZE = "sonde.minimize(objective, space, n_trials=100)"
STUDY = 'sonde.Study(space, direction="minimize", storage="sqlite:///runs.db", name="resnet")'

FUNCTIONS: Mapping[str, str] = {
    "create_study": f"{STUDY}, which also resumes it",
    "load_study": 'sonde.load("sqlite:///runs.db", "resnet")',
    "delete_study": 'sonde.delete("sqlite:///runs.db", "resnet")',
    "get_all_study_names": 'sonde.studies("sqlite:///runs.db")',
    "get_all_study_summaries": 'sonde.studies("sqlite:///runs.db")',
    "samplers": 'strategy="gp" of sonde.Study and sonde.minimize',
    "SondeSampler": "from sonde.integrations.optuna import SondeSampler",
    "SondeSearch": "from sonde.integrations.ray import SondeSearch",
    "SondeSearchCV": "from sonde.integrations.sklearn import SondeSearchCV",
    "BayesSearchCV": "from sonde.integrations.sklearn import SondeSearchCV",
    "RandomizedSearchCV": "from sonde.integrations.sklearn import SondeSearchCV",
    "pruners": "trial.report(step, value) and trial.should_stop(), which need no pruner",
    "visualization": "study.plot.history() and the like",
    "TrialPruned": "sonde.Stopped",
    "optimize": MINIMIZE,
    "fmin": MINIMIZE,
    "gp_minimize": MINIMIZE,
    "forest_minimize": MINIMIZE,
    "gbrt_minimize": MINIMIZE,
    "dummy_minimize": f'{MINIMIZE[:-1]}, strategy="random")',
    "differential_evolution": MINIMIZE,
    "Optimizer": "sonde.Study(space), with study.ask() and study.tell(trial, value)",
    "Real": "sonde.Float",
    "Integer": "sonde.Int",
    "FloatDistribution": "sonde.Float",
    "IntDistribution": "sonde.Int",
    "CategoricalDistribution": "sonde.Categorical",
    "Choice": "sonde.Categorical",
    "hp": '{"lr": (1e-5, 1e-1, "log"), "layers": range(1, 9), "opt": ["sgd", "adam"]} for the space',
    "Trials": "study.trials",
}

STUDY_ATTRIBUTES: Mapping[str, str] = {
    "trials_dataframe": "study.dataframe()",
    "get_trials": "study.trials",
    "best_trials": "study.pareto_front",
    "best_score": "study.best_value",
    "enqueue_trial": "study.enqueue({...})",
    "add_trial": "study.add_trials([...])",
    "study_name": "study.name",
    "user_attrs": "study.note, or the attributes of a trial",
    "set_user_attr": "study.set_note(text), or trial.attributes[name] = value in the objective",
    "set_metric_names": 'objectives={"loss": "minimize"} of sonde.Study',
    "minimize": "study.optimize(objective, n_trials=100)",
    "maximize": 'study.optimize(objective, n_trials=100) of sonde.Study(space, direction="maximize")',
    "suggest": "study.ask()",
    "observe": "study.tell(trial, value)",
    "register": "study.add_trials([...])",
    "sampler": "the strategy; study.explain() says which it is",
    "get_next_trial": "study.ask()",
    "complete_trial": "study.tell(trial, value)",
}

TRIAL_ATTRIBUTES: Mapping[str, str] = {
    "should_prune": "trial.should_stop(), and return None",
    "set_user_attr": "trial.attributes[name] = value",
    "user_attrs": "trial.attributes",
    "suggest_uniform": "trial[name], or trial.suggest_float(name, low, high)",
    "suggest_loguniform": "trial[name], or trial.suggest_float(name, low, high, log=True)",
    "suggest_discrete_uniform": "trial[name], or trial.suggest_float(name, low, high, step=step)",
    "datetime_start": "trial.started",
    "datetime_complete": "trial.finished",
    "intermediate_values": "trial.curve",
    "distributions": "study.space",
    "parameters": "trial.params",
    "kwargs": "trial.params: f(**trial)",
}

KEYWORDS: Mapping[str, str] = {
    **dict.fromkeys(["n_jobs", "num_workers", "processes", "parallel", "max_concurrency"], "write workers="),
    **dict.fromkeys(["n_calls", "n_iter", "maxiter", "max_evals", "num_samples", "budget", "n_evaluations",
                     "evaluations", "trials", "iterations"], "write n_trials="),
    **dict.fromkeys(["random_state", "rstate", "random_seed"], "write seed="),
    **dict.fromkeys(["sampler", "algo", "algorithm", "acq_func"],
                    'write strategy=; the default is "auto"'),
    **dict.fromkeys(["show_progress_bar", "verbose", "disp"], "write progress=True or progress=False"),
    **dict.fromkeys(["bounds", "dimensions", "params", "param_space", "search_space"],
                    "give it as the space: sonde.minimize(objective, space), sonde.Study(space)"),
    **dict.fromkeys(["n_initial_points", "n_startup_trials", "n_random_starts", "init_points"],
                    "leave it out: the strategy chooses its first trials"),
    "pruner": "leave it out: trial.report(step, value) and trial.should_stop() need no pruner",
    "study_name": "write name=",
    "load_if_exists": "leave it out: the same name in the same storage resumes the study",
    "directions": 'write objectives={"loss": "minimize", "latency": "minimize"}',
    "mode": 'write direction="minimize" or "maximize"',
    "x0": "leave it out: study.enqueue({...}) queues what to try first",
    "y0": "leave it out: study.add_trials([...]) adds known results",
    "gc_after_trial": "leave it out",
    "args": "leave it out: functools.partial, or a lambda, gives the objective more arguments",
    **dict.fromkeys(["func", "fun", "function", "fn", "f"],
                    "give it as the objective: sonde.minimize(objective, space), study.optimize(objective)"),
    "maximize": 'call sonde.maximize, or give direction="maximize" to sonde.Study',
}  # fmt: skip

# Arguments of ours that one of these functions has and another has not.
PLACES: Mapping[str, str] = {
    **dict.fromkeys(["n_trials", "timeout", "trial_timeout", "workers", "executor", "callbacks", "catch",
                     "give_up_after", "progress", "jac"], "study.optimize and sonde.minimize"),
    **dict.fromkeys(["space", "storage", "name", "seed", "strategy", "objectives", "thresholds", "stopping"],
                    "sonde.Study and sonde.minimize"),
    "direction": "sonde.Study; sonde.minimize and sonde.maximize need none",
}  # fmt: skip


def unknown_attribute(
    owner: str, name: str, words: Mapping[str, str], of_another: type[AttributeError] = AttributeError
) -> NoReturn:
    """Raise for an attribute that is not there; ``of_another``, with ours, where the word is another library's.

    Python adds the nearest attribute to an error that does not name one itself.
    """
    if name in words:
        raise of_another(f"{owner} has no attribute {name!r}; write {words[name]}")
    raise AttributeError(f"{owner} has no attribute {name!r}")


def explains_keywords(function: Callable[P, R], words: Mapping[str, str] | None = None) -> Callable[P, R]:
    """Have a function say what to write instead of keywords of other libraries; ``words`` are its own."""
    known = set(inspect.signature(function).parameters)
    own = words or {}

    @wraps(function)
    def explained(*args: P.args, **kwargs: P.kwargs) -> R:
        unknown = kwargs.keys() - known
        if unknown:
            name = min(unknown)
            raise TypeError(
                f"{function.__qualname__.removesuffix('.__init__')} takes no {name}=; "
                f"{own.get(name) or _advice(name, known - {'self', 'cls'})}"
            )
        return function(*args, **kwargs)

    return explained


def _advice(name: str, known: Collection[str]) -> str:
    """Return what to write instead of a keyword."""
    advice = KEYWORDS.get(name, "")
    ours = advice.removeprefix("write ").partition("=")[0] if advice.startswith("write ") else name
    if ours not in known and ours in PLACES:
        return f"{'it' if ours == name else f'{ours}='} is an argument of {PLACES[ours]}"
    if advice:
        return advice
    close = difflib.get_close_matches(name, known, 1)
    return f"write {close[0]}=" if close else f"it takes {', '.join(sorted(known))}"
