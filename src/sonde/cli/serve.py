"""The command ``serve``."""

from __future__ import annotations

from pathlib import Path

import click

from sonde.cli.options import storage_option


@click.command
@storage_option
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on; 0.0.0.0 for all networks.")
@click.option("--port", metavar="PORT", type=click.IntRange(1, 65535), default=8080, help="Port to listen on.")
@click.option("--tls-certificate", metavar="FILE", help="Certificate (PEM, with its chain) for HTTPS.")
@click.option("--tls-key", metavar="FILE", help="Private key of the certificate.")
@click.option("--no-token", is_flag=True, help="Ask for no token; on an address of this machine only.")
@click.option("--log", type=click.Choice(["text", "json"]), default="text", help="Form of the log on standard error.")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", help="What to log."
)
@click.option("--max-body", metavar="BYTES", type=int, default=16 * 2**20, help="Largest body of a request.")
@click.option("--rate", metavar="N", type=float, default=5000.0, help="Requests per second of one token.")
@click.option("--connections", metavar="N", type=int, default=8192, help="Open connections.")
@click.option("--waiting", metavar="N", type=int, default=4096, help="Asks that wait at once.")
@click.option("--streams", metavar="N", type=int, default=256, help="Open streams of events.")
@click.option("--body-seconds", metavar="S", type=float, default=30.0, help="Seconds to send the body of a request.")
@click.option("--header-seconds", metavar="S", type=float, default=10.0, help="Seconds to send its header.")
@click.option(
    "--logs", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), envvar="SONDE_LOGS", show_envvar=True,
    help="Show what programs printed: the folder that workers have as --logs.",
)  # fmt: skip
def serve(
    storage: str, host: str, port: int, tls_certificate: str | None, tls_key: str | None, no_token: bool, log: str,
    log_level: str, max_body: int, rate: float, connections: int, waiting: int, streams: int, body_seconds: float,
    header_seconds: float, logs: Path | None,
) -> None:  # fmt: skip
    """Serve studies over HTTP, for workers anywhere, and a dashboard for browsers at the same address.

    The first start prints a token for an admin; others are made with: sonde token create

    \b
    Examples:
      sonde serve
      sonde serve --storage postgresql://sonde@db/sonde --host 0.0.0.0 \\
          --tls-certificate cert.pem --tls-key key.pem
    """
    from sonde.extras import require
    from sonde.server.settings import Settings

    settings = Settings(
        storage, host, port, tls_certificate, tls_key, token=not no_token, log=log, log_level=log_level,
        max_body=max_body, rate=rate, connections=connections, waiting=waiting, streams=streams,
        body_seconds=body_seconds, header_seconds=header_seconds, logs=logs,
    )  # fmt: skip
    require("fastapi", "uvicorn", "uvloop", "httptools", "prometheus_client", extra="server")
    from sonde.server.serving import serve as run

    run(settings, click.echo)
