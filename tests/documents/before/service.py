import atexit
import os
import signal
from contextlib import suppress


def _end_server():
    """End the server of the page, also where a block fails."""
    with suppress(OSError, ValueError), open("server.pid") as file:
        os.kill(int(file.read()), signal.SIGTERM)


atexit.register(_end_server)
os.environ["SONDE_STORAGE"] = "sqlite:///service.db"
