"""The channel to a study in memory: strangers, other services, and its end."""

from __future__ import annotations

import socket
import threading
from multiprocessing.connection import Listener

import pytest

from sonde.errors import NotConnected
from sonde.study.channel import Channel, request


@pytest.mark.parametrize("greeting", [b"no key of ours", None])
def test_another_service_on_that_port_is_said(greeting: bytes | None) -> None:
    """The port of a study's process may belong to anything on another machine."""
    with Listener(("localhost", 0), authkey=None if greeting else b"another") as other:

        def serve() -> None:
            try:
                with other.accept() as connection:
                    connection.send_bytes(greeting or b"")
            except Exception:  # the other end has no key
                return

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(NotConnected, match=r"reached from its own machine only.*give it a storage"):
            request(other.address, b"ours", "hello")
        thread.join(60)


def test_a_stranger_who_says_nothing_keeps_nobody_waiting() -> None:
    channel = Channel(lambda what: [what])
    with socket.create_connection(channel.address):
        assert request(channel.address, channel.key, "hello") == ["hello"]
    channel.close()


def test_a_listener_that_is_broken_for_good_ends_its_thread() -> None:
    channel = Channel(lambda what: what)
    (accepting,) = (each for each in threading.enumerate() if getattr(each, "_target", None) == channel._accept)
    channel._listener._listener._socket.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
    accepting.join(60)
    assert not accepting.is_alive()
    with pytest.raises(NotConnected):
        request(channel.address, channel.key, "hello")
