"""The options of the service."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.errors import OptionError

LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


@dataclass(frozen=True)
class Settings:
    """Where the service listens, and its limits."""

    storage: str
    host: str = "127.0.0.1"
    port: int = 8080
    certificate: str | None = None  # files of TLS
    key: str | None = None
    token: bool = True  # whether a token is needed
    own_secret: str | None = None  # a token of this process only, stored nowhere
    logs: Path | None = None  # of trials, as workers with --logs leave them
    log: str = "text"
    log_level: str = "info"
    max_body: int = 16 * 2**20  # bytes of a request
    rate: float = 5000.0  # requests per second of one token
    connections: int = 8192
    waiting: int = 4096  # asks that wait at once
    streams: int = 256  # of events, at once
    header_seconds: float = 10.0  # to send the header of a request
    body_seconds: float = 30.0  # to send its body
    stalled_seconds: float = 30.0  # that a client may leave a response unread
    idle_seconds: float = 75.0  # that a connection may be idle
    suggester_seconds: float = 300.0  # without asks after which the process that suggests for a study ends

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            raise OptionError(
                f"--no-token lets everybody who can reach {self.host} change all studies, so it is for an address of "
                "this machine only, such as --host 127.0.0.1; leave out --no-token, or listen on 127.0.0.1"
            )
        if (self.certificate is None) != (self.key is None):
            raise OptionError("TLS needs both --tls-certificate and --tls-key")
        if self.logs is not None and not self.logs.is_dir():
            raise OptionError(
                f"--logs: there is no folder {str(self.logs)!r}; give the one that workers have as --logs"
            )
        _check_range("--max-body", self.max_body, 1024, 2**31)
        for name in ("rate", "connections", "waiting", "streams"):
            _check_range(f"--{name}", getattr(self, name), 1, 10**6)

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.certificate is not None

    @property
    def url(self) -> str:
        """The address for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * self.encrypted}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check_range(name: str, value: Any, least: float, most: float) -> None:
    if not least <= value <= most:
        raise OptionError(f"{name} must be from {least} to {most}, got {value}")
