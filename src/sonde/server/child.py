"""A child process that computes for a study, seen from the server. They talk in lines of JSON over pipes."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from sonde.errors import SondeError

_MAX_LINE = 64 * 2**20  # bytes: the document of a trial may be long
_ENDS_BY_ITSELF = 1.0  # seconds


class ChildFailed(SondeError):
    """The child process ended, or could not do what it was asked; ``refused``: because of what it was asked."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class Child:
    """A running child; commands are answered one after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._commands = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, storage: str, study: str) -> Child:
        """Start a child for a study."""
        child = await cls.spare()
        child.open(storage, study)
        return child

    @classmethod
    async def spare(cls, nice: int = 0) -> Child:
        """Start a child that waits for its study; ``nice`` lowers its priority."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sonde.server.suggester", str(nice),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_MAX_LINE,
            start_new_session=True,  # Ctrl-C ends the server, which ends its children
        )  # fmt: skip
        return cls(process)

    def open(self, storage: str, study: str) -> None:
        """Give the child its study. The URL may hold a password, so it is not on the command line."""
        self._write({"storage": storage, "study": study})

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._reading.done()

    async def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have the child do something; raise ``ChildFailed`` with the reason if it cannot."""
        self._commands += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[self._commands] = answer
        try:
            if self._reading.done():
                raise ChildFailed(await self._why())
            self._write({"id": self._commands, "do": command, **arguments})
            return await answer
        finally:
            self._answers = {key: waiting for key, waiting in self._answers.items() if waiting is not answer}

    async def close(self) -> None:
        """End the child: by itself if it is idle, else at once. What it computes now is lost."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _ENDS_BY_ITSELF)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._reading

    def _write(self, data: dict[str, Any]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(data).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            said = json.loads(line)
            answer = self._answers.get(said["id"])
            if answer is None or answer.done():
                continue
            if "error" in said:
                answer.set_exception(ChildFailed(said["error"], refused=said.get("refused", False)))
            else:
                answer.set_result(said)
        why = await self._why()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ChildFailed(why))

    async def _why(self) -> str:
        return f"its process ended with code {await self._process.wait()}"
