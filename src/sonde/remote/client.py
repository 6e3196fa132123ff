"""Requests to one service, repeated until they are answered.

A request is repeated when the connection is lost or refused, and when the service says that it cannot answer now, with
growing pauses that differ between clients. After ``patience`` seconds without an answer it is an error.
"""

from __future__ import annotations

import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from ssl import SSLCertVerificationError
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from sonde import errors
from sonde.activity import doing
from sonde.errors import NotConnected, OptionError, SondeError, StorageError
from sonde.study.checks import seconds
from sonde.study.interrupts import interruptible

PATIENCE = 600.0  # seconds
FIRST = 10.0  # seconds of patience before the first answer: the address may be wrong
EXPECTED = "http://host:8080 or https://host"

_AGAIN = (429, 502, 503, 504)
_ANSWERS_WITHIN = 60.0  # seconds, beyond those that a request asks the service to wait
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # seconds
_CONNECTIONS = 16  # kept open, for threads
_SHOWN = 200  # characters of an answer that cannot be read
_log = logging.getLogger(__name__)


class Client:
    """A service and the token for it. May be used by threads, pickled, and used after a fork."""

    def __init__(
        self, url: str, token: str | None = None, *, ca: str | None = None, patience: float = PATIENCE
    ) -> None:
        self.url = _checked_url(url)
        self._token = _checked_token(os.environ.get("SONDE_TOKEN") if token is None else token)
        self._ca = ca or os.environ.get("REQUESTS_CA_BUNDLE")  # OpenSSL itself reads SSL_CERT_FILE
        self.patience = seconds(patience, "patience") or math.inf
        self._answered = False
        self._pool: urllib3.PoolManager | None = None
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_pool": None}

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, study: str = "", wait: float = 0.0,
        **query: Any,
    ) -> Any:  # fmt: skip
        """Send a request and return the answer; errors of the service are raised here.

        ``study`` is the key that the study in the path must have. ``wait`` is how many seconds the service may take
        because the request says so.
        """
        target = self.url + path + (f"?{urlencode(query)}" if query else "")
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        away = _Away(self)
        while True:
            with interruptible():  # also a request that was sent may be repeated
                response, why = self._try(method, target, content, self._headers(study), wait)
            if response is not None and response.status not in _AGAIN:
                self._answered = True
                return _answer(response, self.url)
            away.pause(why, response)

    def limit(self) -> float:
        """Return how many seconds a request may be repeated."""
        return self.patience if self._answered or self.patience == math.inf else min(self.patience, FIRST)

    def close(self) -> None:
        """Close the connections; later requests open new ones."""
        if self._pool is not None:
            self._pool.clear()

    def _try(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str], wait: float
    ) -> tuple[urllib3.BaseHTTPResponse | None, str]:
        """Send a request once; return the response, or why there is none."""
        timeout = urllib3.Timeout(connect=_ANSWERS_WITHIN, read=wait + _ANSWERS_WITHIN)
        try:
            response = self._connections().request(
                method, target, body=content, headers=headers, timeout=timeout, retries=False, redirect=False
            )
        except HTTPError as error:
            if isinstance(error.args[0], SSLCertVerificationError):
                raise StorageError(
                    f"the certificate of {self.url} cannot be trusted ({error.args[0].verify_message}); if its "
                    "authority is one of your own, name that one's file: ca=, or REQUESTS_CA_BUNDLE in the environment"
                ) from None
            return None, _why(error)
        return response, f"it answered {response.status} {_told(response).get('message', '')}".strip()

    def _connections(self) -> urllib3.PoolManager:
        """Return the connections of this process."""
        if self._pool is None or self._process != os.getpid():
            place = "ca_cert_dir" if self._ca is not None and os.path.isdir(self._ca) else "ca_certs"
            options: dict[str, Any] = {place: self._ca, "maxsize": _CONNECTIONS}
            self._pool, self._process = urllib3.PoolManager(**options), os.getpid()
        return self._pool

    def _headers(self, study: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if study:
            headers["Sonde-Study"] = study
        return headers | ({"Authorization": f"Bearer {self._token}"} if self._token else {})


class _Away:
    """The time in which the service does not answer one request."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._since = math.inf
        self._pause = _FIRST_PAUSE

    def pause(self, why: str, response: urllib3.BaseHTTPResponse | None) -> None:
        """Wait before the next try; raise if patience is at its end."""
        url, limit = self._client.url, self._client.limit()
        if self._since == math.inf:
            self._since = time.monotonic()
            _log.warning("the service at %s does not answer (%s); trying again for %g seconds", url, why, limit)
        left = self._since + limit - time.monotonic()
        if left <= 0:
            raise NotConnected(
                f"the service at {url} has not answered for {limit:g} seconds ({why}); check its address, and that it "
                "runs: sonde serve"
            )
        asked = _number(None if response is None else response.headers.get("Retry-After"))
        with doing(f"waiting for {url}"), interruptible():
            time.sleep(min(left, max(asked, self._pause * random.uniform(0.5, 1.5))))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def _answer(response: urllib3.BaseHTTPResponse, url: str) -> Any:
    """Return what the service told, or raise what it says is wrong."""
    if response.status == 204:
        return None
    if response.status < 300:
        try:
            return json.loads(response.data)
        except (ValueError, RecursionError):
            raise _strange(response, url) from None
    told = _told(response)
    if "error" not in told:
        raise _strange(response, url)
    said = "; ".join(str(text) for text in (told.get("message"), told.get("remedy")) if text)
    if told["error"] == "NotFound":  # no such route
        raise StorageError(f"the service at {url} runs an older Sonde, which cannot do this ({said}); upgrade it")
    if response.status in (401, 403):
        raise StorageError(
            f"the service at {url} refuses this: {said}. The token is token=, --token or SONDE_TOKEN in the environment"
        )
    raise _error(str(told["error"]), said)


def _error(name: str, message: str) -> SondeError:
    """Return the error of that name."""
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, SondeError):
        with suppress(TypeError):  # a few are made of more than a message
            return kind(message)
    return StorageError(f"{name}: {message}")


def _told(response: urllib3.BaseHTTPResponse) -> dict[str, Any]:
    """Return the object in a response, or an empty one."""
    try:
        told = json.loads(response.data)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _strange(response: urllib3.BaseHTTPResponse, url: str) -> StorageError:
    where = f" to {response.headers['Location']!r}" if "Location" in response.headers else ""
    shown = response.data.decode("utf-8", "replace").strip()[:_SHOWN]
    return StorageError(
        f"{url} does not answer as a service of Sonde does, but with {response.status}{where}: {shown!r}; expected "
        f"the address of one, such as {EXPECTED}"
    )


def _why(error: HTTPError) -> str:
    """Return in a few words why there was no response."""
    cause = error.__cause__ or (error.args[-1] if isinstance(error, ProtocolError) else None)
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return re.sub(r"^.*?Connection\(.*?\): ", "", str(error))


def _number(text: str | None) -> float:
    try:
        return min(float(text or 0.0), _ANSWERS_WITHIN)
    except ValueError:  # a date
        return 0.0


def _checked_url(url: Any) -> str:
    """Return the address without a slash at its end; an error never shows a password in it."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        _ = parts.port
    except ValueError:
        raise OptionError(f"url must be the address of a service, {EXPECTED}, got one that cannot be read") from None
    if parts.username is not None or parts.password is not None:
        raise OptionError("url must have no name and password; give the token as token= or SONDE_TOKEN")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise OptionError(f"url must be the address of a service, {EXPECTED}, got {url!r}")
    return str(url).rstrip("/")


def _checked_token(token: Any) -> str | None:
    """Return the token; an error does not show it."""
    if not token and (token is None or isinstance(token, str)):
        return None
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise OptionError("token must be the text that sonde token create printed: no spaces, ASCII only")
    return token
