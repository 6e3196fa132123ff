"""``sonde completion``: the script that has a shell complete commands, options and names."""

from __future__ import annotations

import re
import shlex

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

VARIABLE = "_SONDE_COMPLETE"  # Click's name for it
_PLAIN = re.compile(r"[\w@%+=:./{}-]+", re.ASCII)


class Bash(BashComplete):
    """Bash inserts a completion as it is, so one with blanks or quotes has to be quoted."""

    def format_completion(self, item: CompletionItem) -> str:
        """Return a completion as the script reads it."""
        value = item.value if item.type != "plain" or _PLAIN.fullmatch(item.value) else shlex.quote(item.value)
        return f"{item.type},{value}"


add_completion_class(Bash)


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that has your shell complete commands, options, studies, parameters and figures.

    For every new shell, put its line into ~/.bashrc or ~/.zshrc; for fish, the output into its folder of completions.

    \b
    Examples:
      eval "$(sonde completion bash)"
      eval "$(sonde completion zsh)"
      sonde completion fish > ~/.config/fish/completions/sonde.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    root = context.find_root()
    click.echo(kind(root.command, {}, "sonde", VARIABLE).source())
