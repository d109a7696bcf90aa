"""The client for programs without an event loop: one thread talks to the server, ``send`` waits while the buffer is
full, and may be called from any thread."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Coroutine, Optional, Sequence, TypeVar

from .client import FeedClient, Listener, Object

T = TypeVar("T")


class Feed:
    """A FeedClient in a thread of its own; options as of ``FeedClient``."""

    def __init__(self, url: str, stream: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        # a daemon: a program that forgets to close still ends
        self._thread = threading.Thread(target=self._loop.run_forever, name="tgospa-live", daemon=True)
        self._thread.start()
        try:
            self._client = self._call(_make(url, stream, options))
        except BaseException:
            self._stop()
            raise

    def ready(self) -> None:
        """Returns when the feed is open; raises when the server cannot be reached or refuses it for good."""
        self._call(self._client.ready())

    def send(self, objects: Sequence[Object], *, k: Optional[int] = None, t: Optional[float] = None) -> int:
        """Takes a frame with its number ``k`` and/or time ``t`` (epoch seconds); returns once it is in the buffer."""
        return self._call(self._client.send(objects, k=k, t=t))

    def send_reports(self, reports: Sequence[Object]) -> int:
        """Takes objects that are reported one by one, each at its own time ``t``; returns once they are in the buffer."""
        return self._call(self._client.send_reports(reports))

    def flush(self) -> None:
        """Returns when everything given so far is stored; raises when frames were refused, as ``FeedClient.flush``."""
        self._call(self._client.flush())

    def end(self) -> None:
        """Tells the server that the feed is finished; returns when it has settled what was left."""
        self._call(self._client.end())

    def close(self, *, flush: bool = True) -> None:
        """Flushes, unless told not to, and closes for good."""
        if self._loop.is_closed():
            return
        try:
            self._call(self._client.close(flush=flush))
        finally:
            self._stop()

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """As ``FeedClient.on``; the listener is called in the feed's thread."""
        return self._client.on(event, listener)

    @property
    def pending(self) -> int:
        return self._client.pending

    @property
    def connected(self) -> bool:
        return self._client.connected

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # an error inside the block must not wait for a server that is away
        self.close(flush=error is None)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("this feed is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _make(url: str, stream: str, options: Any) -> FeedClient:
    return FeedClient(url, stream, **options)


def open_feed(url: str, stream: str, **options: Any) -> Feed:
    """Opens a feed and keeps it open; options as of ``FeedClient``."""
    return Feed(url, stream, **options)
