"""Stands between client and server, and cuts connections without any goodbye."""

from __future__ import annotations

import asyncio
from typing import Optional, Set
from urllib.parse import urlsplit


class Wire:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._to = (parts.hostname, parts.port)
        self._writers: Set[asyncio.StreamWriter] = set()
        self._tasks: Set[asyncio.Task[None]] = set()
        self._server: Optional[asyncio.AbstractServer] = None
        self.refusing = False
        self.cut_after: Optional[int] = None  # bytes of the client until the next cut
        self.cuts = 0
        self.url = ""

    async def open(self) -> Wire:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._to)
        self._writers |= {writer, far_writer}
        for work in (self._carry(reader, far_writer, True), self._carry(far_reader, writer, False)):
            task = asyncio.ensure_future(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, outward: bool) -> None:
        try:
            while True:
                data = await reader.read(4096)
                if not data:
                    break
                if outward and self.cut_after is not None:
                    self.cut_after -= len(data)
                    if self.cut_after < 0:
                        self.cut_after = None
                        self.cut()
                        return
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()

    def cut(self) -> None:
        self.cuts += 1
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def close(self) -> None:
        self.cut()
        assert self._server is not None
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
