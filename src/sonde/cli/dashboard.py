"""The command ``dashboard``: the pages of the service for one person, on this machine."""

from __future__ import annotations

import socket
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from sonde.cli.opening import sqlite_path

USUAL_PORT = 8090  # a browser keeps what it has compiled, and whether pages are dark, by address


@click.command
@click.argument("database", metavar="[DATABASE]", envvar="SONDE_STORAGE", default="sonde.db")
@click.option(
    "--port", metavar="PORT", type=click.IntRange(1, 65535),
    help=f"Port to listen on; {USUAL_PORT}, or else a free one, by default.",
)  # fmt: skip
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on, of this machine only.")
@click.option("--no-browser", is_flag=True, help="Do not open the browser.")
@click.option(
    "--logs", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), envvar="SONDE_LOGS", show_envvar=True,
    help="Show what programs printed: the folder that workers have as --logs.",
)  # fmt: skip
def dashboard(database: str, port: int | None, host: str, no_browser: bool, logs: Path | None) -> None:
    """Show the studies of a database in the browser, until Ctrl-C.

    DATABASE is a file, sonde.db unless it is given, or a URL such as postgresql://... The link has a token that is
    valid until the command ends.

    \b
    Examples:
      sonde dashboard
      sonde dashboard runs.db --port 9000 --no-browser
    """
    from sonde.errors import OptionError, StorageError
    from sonde.extras import require
    from sonde.server.settings import Settings, is_loopback

    if not is_loopback(host):
        raise OptionError(
            f"--host {host} can be reached by others; sonde dashboard is for this machine, sonde serve for all"
        )
    path = sqlite_path(database)
    if path is not None and not path.exists():
        raise StorageError(f"there is no database {str(path)!r}; check its name, or start a study with: sonde run")
    require("fastapi", "uvicorn", "uvloop", "httptools", "prometheus_client", extra="server")
    from sonde.server.serving import serve
    from sonde.server.tokens import new_secret

    listening = _listening(host, port)
    secret = new_secret()
    settings = Settings(
        database if path is None or "://" in database else f"sqlite:///{path}", host, listening.getsockname()[1],
        own_secret=secret, logs=logs, log_level="warning",
    )  # fmt: skip
    link = f"{settings.url}/#token={secret}"

    def ready() -> None:
        click.echo(f"dashboard: {link}")
        click.echo("Ctrl-C ends it", err=True)
        if not no_browser:
            _open(link, folder)

    with TemporaryDirectory(prefix="sonde-", ignore_cleanup_errors=True) as folder:
        serve(settings, click.echo, listening=listening, ready=ready)


def _open(link: str, folder: str) -> None:
    """Open the link in the browser, through a file: other users of this machine can see what is on a command line."""
    page = Path(folder) / "open.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={link}">', encoding="utf-8")
    webbrowser.open(page.as_uri())


def _listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; on the usual port if none is given, or on a free one."""
    from sonde.errors import OptionError

    bare, reason = host.strip("[]"), None
    for own in (USUAL_PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((bare, own))
            listening.listen()  # only then others cannot have it too
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror
    where = host if port is None else f"{host} port {port}"
    raise OptionError(f"cannot listen on {where}: {reason}; choose another --port")
