"""The command ``token``: who may use the service."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from sonde.cli import output
from sonde.cli.opening import existing_storage
from sonde.cli.options import json_option, storage_option

ROLES = ("read", "work", "admin")


@click.group
def token() -> None:
    """Make, list and revoke tokens of the service (sonde serve).

    \b
    Examples:
      sonde token create gpu-7
      sonde token list
      sonde token revoke gpu-7
    """


@token.command
@click.argument("name")
@click.option(
    "--role", type=click.Choice(ROLES), default="work",
    help="read: look; work: also ask and tell; admin: also create and delete studies.",
)  # fmt: skip
@click.option("--days", metavar="N", type=float, help="Days until it ends. [default: never]")
@storage_option
@json_option
def create(name: str, role: str, days: float | None, storage: str, as_json: bool) -> None:
    """Make a token and print it; it is not shown again.

    \b
    Examples:
      sonde token create gpu-7
      sonde token create anna --role admin --days 90
    """
    from sonde.server.tokens import Role, TokenTable

    table = TokenTable(storage)
    secret = table.create(name, Role.named(role), days)
    table.close()
    if as_json:
        output.print_json({"name": name, "role": role, "token": secret})
    else:
        click.echo(f"token: {secret}")


@token.command("list")
@storage_option
@json_option
def show(storage: str, as_json: bool) -> None:
    """List the tokens: names, roles and ends.

    \b
    Examples:
      sonde token list
      sonde token list --json
    """
    with existing_storage(storage):
        from sonde.server.tokens import TokenTable

        table = TokenTable(storage)
        rows = [
            {"name": one.name, "role": one.role.name.lower(), "created": _date(one.created), "ends": _date(one.ends)}
            for one in table.all()
        ]
        table.close()
    if as_json:
        output.print_json(rows)
    else:
        output.print_table(
            list(rows[0]) if rows else ["name"], [[str(cell or "never") for cell in row.values()] for row in rows]
        )


@token.command
@click.argument("name")
@storage_option
@json_option
def revoke(name: str, storage: str, as_json: bool) -> None:
    """Revoke a token; running servers refuse it within a second.

    \b
    Examples:
      sonde token revoke gpu-7
    """
    with existing_storage(storage):
        from sonde.server.tokens import TokenTable

        table = TokenTable(storage)
        table.revoke(name)
        table.close()
    if as_json:
        output.print_json({"revoked": name})
    else:
        output.notice(f"revoked token {name!r}")


def _date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
