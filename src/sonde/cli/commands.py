"""The commands: where each one is, and its line in the list of commands.

The line stands here so that ``sonde --help`` and shell completion need not load the commands.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where a command is, and what it does in one line."""

    module: str
    function: str
    help: str


COMMANDS = {
    "run": Place("run", "run", "Tune any program: the last number it prints is the value."),
    "worker": Place("worker", "worker", "Run the trials of a study on this machine."),
    "show": Place("live", "show", "Show a study and how it gets on."),
    "best": Place("show", "best", "Show the best trial of a study."),
    "trials": Place("show", "trials", "List the trials of a study."),
    "studies": Place("show", "studies", "List the studies of a storage."),
    "explain": Place("explain", "explain", "Say which strategy suggests, why, and how well its model predicts."),
    "plot": Place("plotting", "plot", "Draw a figure of a study, or print its numbers."),
    "report": Place("plotting", "report", "Write a report of a study: one HTML file."),
    "ask": Place("ask", "ask", "Ask for trials, to run them by hand or by other programs."),
    "tell": Place("tell", "tell", "Tell the result of a trial."),
    "pause": Place("audit", "pause", "Suggest no more trials until the study is resumed."),
    "resume": Place("audit", "resume", "Suggest trials again."),
    "note": Place("audit", "note", "Write a note on a study or a trial."),
    "verify": Place("audit", "verify", "Check that the suggestions of a study are those of its method."),
    "export": Place("manage", "export", "Write all trials of a study as CSV or JSON."),
    "delete": Place("manage", "delete", "Delete a study and its trials."),
    "dashboard": Place("dashboard", "dashboard", "Show the studies of a database in the browser."),
    "serve": Place("serve", "serve", "Serve studies over HTTP, for workers anywhere."),
    "token": Place("token", "token", "Make, list and revoke tokens of the service."),
    "completion": Place("completion", "completion", "Print a script for your shell: completion by the Tab key."),
}
