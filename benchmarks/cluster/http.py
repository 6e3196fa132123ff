"""Round trips per second of the service: an ask and a tell, with trials that wait, on one core.

    python -m benchmarks.cluster.http [--short | --full] [--storage URL]

The server and its child processes have one core, the clients another. On a machine that does other things, look at the
server's CPU time per round trip: it bounds the round trips of one core. Clients are keep-alive connections of one
asyncio process that write bytes and look for the end of the answer, so that they cost little. Every client asks for a
trial and tells its result at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import report

CLIENTS = (1, 8, 64, 800)
PORT = 18471
SPACE = {"parameters": {f"x{i}": {"type": "float", "low": 0, "high": 1} for i in range(4)}}
QUEUE = 10_000  # of one request


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="two seconds each")
    parser.add_argument("--full", action="store_true", help="a minute each")
    parser.add_argument("--storage", help="by default a new SQLite file")
    parser.add_argument("--cores", type=int, nargs=2, metavar=("SERVER", "CLIENTS"), help="by default the first two")
    options = parser.parse_args()
    seconds = 2.0 if options.short else 60.0 if options.full else 10.0
    cores = options.cores or sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as folder:
        url = options.storage or f"sqlite:///{folder}/bench.db"
        rows = [measured(url, clients, seconds, cores, Path(folder)) for clients in CLIENTS]
    kind = url.partition(":")[0]
    report("cluster_http", f"Ask and tell over HTTP, {kind}, server on one core, {seconds:g} s each", rows)


def measured(url: str, clients: int, seconds: float, cores: list[int], folder: Path) -> dict[str, Any]:
    """Return a row: a server of its own for each number of clients."""
    os.sched_setaffinity(0, {cores[0]})
    with served(url, folder / "server.log") as server:
        os.sched_setaffinity(0, {cores[-1]})
        name = f"with-{clients}"
        post("/v1/studies", {"name": name, "space": SPACE, "strategy": "random"})
        queued = int(1500 * seconds) + 2 * clients
        for begin in range(0, queued, QUEUE):
            post(f"/v1/studies/{name}/enqueue", {"params": configurations(min(QUEUE, queued - begin))})
        before, began = process_seconds(server.pid), time.perf_counter()
        asks, tells = asyncio.run(drive(name, clients, seconds))
        took, cpu = time.perf_counter() - began, process_seconds(server.pid) - before
    return {
        "clients": clients, "round trips/s": len(tells) / took, "requests/s": 2 * len(tells) / took,
        "ask p50 ms": 1e3 * np.median(asks), "ask p99 ms": 1e3 * np.quantile(asks, 0.99),
        "tell p50 ms": 1e3 * np.median(tells), "tell p99 ms": 1e3 * np.quantile(tells, 0.99),
        "server CPU ms per trip": 1e3 * cpu / len(tells),
    }  # fmt: skip


@contextmanager
def served(url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the service on the cores of this process."""
    with log.open("w") as errors:
        server = subprocess.Popen(
            [sys.executable, "-c", "from sonde.cli.main import main; main()", "serve", "--no-token", "--storage", url,
             "--port", str(PORT), "--log-level", "warning", "--rate", "1000000"],
            stderr=errors,
        )  # fmt: skip
        try:
            wait_for(server)
            yield server
        finally:
            server.terminate()
            server.wait()


def configurations(count: int) -> list[dict[str, float]]:
    drawn = np.random.default_rng().random((count, 4))
    return [{f"x{i}": float(value) for i, value in enumerate(row)} for row in drawn]


def wait_for(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health").read()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server does not start")


def post(path: str, data: Any) -> Any:
    body = json.dumps(data).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}{path}", body, {"content-type": "application/json"}, method="POST"
    )
    return json.loads(urllib.request.urlopen(request).read())


def process_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def drive(name: str, clients: int, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds of each ask and of each tell."""
    asks: list[float] = []
    tells: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(name, f"w{i}", until, asks, tells) for i in range(clients)))
    return np.array(asks), np.array(tells)


async def client(name: str, worker: str, until: float, asks: list[float], tells: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    while time.perf_counter() < until:
        began = time.perf_counter()
        answer = await exchange(reader, writer, f"/v1/studies/{name}/ask", {"worker": worker})
        asked = time.perf_counter()
        trial = answer["trials"][0]
        result = {"trial": trial["number"], "token": trial["token"], "value": trial["params"]["x0"]}
        await exchange(reader, writer, f"/v1/studies/{name}/tell", result)
        told = time.perf_counter()
        asks.append(asked - began)
        tells.append(told - asked)
    writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, data: Any) -> Any:
    body = json.dumps(data).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    header = await reader.readuntil(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    answer = json.loads(await reader.readexactly(length))
    if b" 200 " not in header[:16]:
        raise SystemExit(f"{path}: {answer}")
    return answer


if __name__ == "__main__":
    main()
