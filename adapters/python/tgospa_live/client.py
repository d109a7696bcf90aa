"""The asyncio client of ``tgospa.v1``: keeps what it was given until the server has stored it, and comes back after
every cut. Frames are numbered here, sent within the credit, and resent from the last ack.

Invariant: a frame leaves the buffer only when it is acked, rejected by the server, or dropped by the chosen policy;
each of the three is told to a listener. It behaves as the client for Node and browsers does (src/client.ts).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import random
from collections import deque
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union
from urllib.parse import urlsplit, urlunsplit

import websockets
from websockets.exceptions import ConnectionClosed, WebSocketException

log = logging.getLogger("tgospa_live")


# `class` is a keyword, so this type cannot be written as a class
Object = TypedDict(
    "Object",
    {
        "id": str,
        "box": Sequence[float],
        "point": Sequence[float],
        "class": str,
        "confidence": float,
        "t": float,
        "velocity": Sequence[float],
        "ignore": bool,
        "end": bool,
    },
    total=False,
)
"""An object as it is sent: an id, and exactly one of box (left, top, width, height) and point. ``t`` is its own time in
epoch seconds, which a report needs; ``velocity`` is per second along each axis, on Earth metres east, north and up;
``ignore``, of a reference, says that it is not judged; ``end``, of a report, that it is gone, then also without a
place."""


class Reject(TypedDict, total=False):
    """The server refused a frame or the hello."""

    seq: int
    code: str
    path: str
    message: str
    value: str


class Welcome(TypedDict, total=False):
    """The server's answer to the hello, as far as the client reads it."""

    session: str
    nextSeq: int
    credit: int
    maxPayloadBytes: int
    heartbeatMs: int
    reconnectMaxMs: float


class ClientError(Exception):
    """The server or the policy refused; ``code`` says why. With the code ``rejected`` the feed goes on without the
    frames in ``rejects``, with any other it is over."""

    def __init__(self, code: str, message: str, rejects: Sequence[Reject] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.rejects = list(rejects)


Token = Union[str, Callable[[], Union[str, Awaitable[str]]], None]
Listener = Callable[[Any], None]

EVENTS = ("open", "ack", "reject", "skip", "drop", "reconnecting", "close")

# coming back will not help: the hello or the messages are wrong, or another connection took over
_FINAL_CLOSE_CODES = frozenset({1002, 1007, 1008, 1009, 4400, 4403, 4410})

# HTTP answers below 500 after which the same request may still succeed
_PASSING_STATUSES = frozenset({408, 425, 429})

# refused frames that a ClientError lists
_REJECTS_LISTED_MAX = 20

# {"type":"frames","frames":[{"seq":9007199254740991, and its end
_FRAME_OVERHEAD_BYTES = 64


@dataclass
class _Held:
    local: int  # counts this client's frames from 1
    tail: str  # the frame as JSON in ASCII, without its sequence number and its opening brace


class FeedClient:
    """One feed. Make it inside a running event loop; ``connect`` does."""

    def __init__(
        self,
        url: str,
        stream: str,
        *,
        role: str = "tracker",
        tracker: Optional[str] = None,
        feed: Optional[str] = None,
        shape: Optional[str] = None,
        settings: Optional[Mapping[str, Any]] = None,
        token: Token = None,
        buffer_frames: int = 10_000,
        when_full: str = "block",
        batch_frames: int = 64,
        backoff: float = 0.25,
        backoff_max: float = 5.0,
        connect_timeout: float = 10.0,
        retry_forever: bool = False,
        rng: Callable[[], float] = random.random,
    ) -> None:
        """
        url: ``ws://host:port`` or ``http://host:port``; the path ``/v1/ingest`` is added unless one is given.
        role: ``tracker`` (judged, needs the name ``tracker``) or ``reference`` (believed).
        feed: name of one of several references.
        shape: ``box`` or ``point``, to learn about a wrong configuration at once.
        settings: settings of the stream, with the keys of ``streams.<name>`` in tgospa.yaml.
        token: asked for again at every connection when it is a function.
        buffer_frames: frames held until they are acked.
        when_full: what ``send`` does when that many are held: ``block``, ``drop-oldest`` or ``error``.
        batch_frames: most frames in one message.
        backoff, backoff_max: first and longest wait before coming back, seconds; doubled each time, with jitter, and
        never longer than the server asks for in its welcome.
        connect_timeout: the server must answer a connection within this, and the first one at all, seconds.
        retry_forever: for programs that may start long before the server; a first connection that fails is no error.
        """
        if role not in ("tracker", "reference"):
            raise ValueError(f"role is {role!r}; use 'tracker' or 'reference'")
        if (role == "tracker") != (tracker is not None):
            raise ValueError("a tracker needs the name tracker=..., and the reference has none")
        if when_full not in ("block", "drop-oldest", "error"):
            raise ValueError(f"when_full is {when_full!r}; use 'block', 'drop-oldest' or 'error'")
        if buffer_frames < 1 or batch_frames < 1:
            raise ValueError("buffer_frames and batch_frames must be at least 1")
        self._address = _address_of(url)
        hello = {
            "stream": stream,
            "role": role,
            "tracker": tracker,
            "feed": feed,
            "shape": shape,
            "settings": settings,
        }
        self._hello = {key: value for key, value in hello.items() if value is not None}
        self._token = token
        self._buffer_frames = buffer_frames
        self._when_full = when_full
        self._batch_frames = batch_frames
        self._backoff = backoff
        self._backoff_max = backoff_max
        self._connect_timeout = connect_timeout
        self._retry_forever = retry_forever
        # whether the server has ever said anything, and why the last attempt failed
        self._answered = False
        self._trouble = "no answer"
        # refused since the last flush, with nobody listening
        self._refused: List[Reject] = []
        self._refused_count = 0
        self._refusal: Optional[Reject] = None
        self._rng = rng
        self._listeners: Dict[str, List[Listener]] = {event: [] for event in EVENTS}
        # held frames in order; the first `_sent` are on the wire
        self._buffer: Deque[_Held] = deque()
        self._sent = 0
        self._locals = 0
        # sequence number of a frame = its local number + this; known from the first welcome on
        self._offset: Optional[int] = None
        self._last_sent_seq = 0
        self._welcome: Optional[Welcome] = None
        self._connected = False
        self._ending = False
        self._ended = False
        self._failure: Optional[ClientError] = None
        self._heard_at = 0.0
        self._changed = asyncio.Condition()
        self._work = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    # what the caller does

    def on(self, event: str, listener: Listener) -> Callable[[], None]:
        """Calls ``listener`` at every event of this name (see ``EVENTS``); returns the function that stops it."""
        if event not in self._listeners:
            raise ValueError(f"no event is called {event!r}; there are {', '.join(EVENTS)}")
        listeners = self._listeners[event]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    @property
    def pending(self) -> int:
        """Frames not acked yet."""
        return len(self._buffer)

    @property
    def connected(self) -> bool:
        return self._connected

    async def ready(self) -> None:
        """Returns when the feed is open; raises when the server cannot be reached or refuses it for good."""
        await self._until(lambda: self._connected)

    async def send(self, objects: Sequence[Object], *, k: Optional[int] = None, t: Optional[float] = None) -> int:
        """Takes a frame with its number ``k`` and/or time ``t`` (epoch seconds). Returns once it is in the buffer, with
        how many frames this client has taken; with ``when_full="block"`` a full buffer makes it wait."""
        return await self._take(_frame_tail(objects, k, t))

    async def send_reports(self, reports: Sequence[Object]) -> int:
        """Takes objects that are reported one by one, each at its own time ``t``, as ``send`` takes a frame."""
        return await self._take(json.dumps({"reports": list(reports)}, separators=(",", ":"), allow_nan=False)[1:])

    async def _take(self, tail: str) -> int:
        self._assert_usable()
        if self._too_large(tail):
            raise ClientError("payload_too_large", self._too_large_message())
        if len(self._buffer) >= self._buffer_frames:
            await self._make_room()
        self._assert_usable()
        self._locals += 1
        self._buffer.append(_Held(self._locals, tail))
        self._work.set()
        return self._locals

    async def flush(self) -> None:
        """Returns when everything given so far is stored. Raises when frames were refused since the last flush, with
        the server's words, unless somebody listens to ``reject``; the other frames are stored then."""
        await self._until(lambda: not self._buffer)
        self._raise_refused()

    async def end(self) -> None:
        """Tells the server that the feed is finished; returns when it has settled what was left."""
        self._ending = True
        self._work.set()
        await self._until(lambda: self._ended)
        self._raise_refused()

    async def close(self, *, flush: bool = True) -> None:
        """Flushes, unless told not to, and closes for good; raises as ``flush`` does."""
        try:
            if flush and self._failure is None:
                await self.flush()
        finally:
            await self._shut(1000, "closed by the client", ClientError("closed", "this client is closed"))
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self) -> FeedClient:
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        # an error inside the block must not wait for a server that is away
        await self.close(flush=error is None)

    # what was refused

    def _report(self, reject: Reject) -> None:
        log.warning("rejected: %s", _sentence_of(reject))
        if self._listeners["reject"]:
            self._emit("reject", reject)
        elif self._connected:  # a hello that is refused is no frame: it ends the feed, or is said again
            self._refused_count += 1
            if len(self._refused) < _REJECTS_LISTED_MAX:
                self._refused.append(reject)

    def _skipped(self, skipped: Mapping[str, Any]) -> None:
        """The server stored frames without objects that lack a value or have an impossible one."""
        log.warning("%d objects left out, such as of frame %d: %s", skipped["objects"], skipped["seq"], skipped["message"])
        self._emit("skip", skipped)

    def _raise_refused(self) -> None:
        if not self._refused:
            return
        rejects, count = self._refused, self._refused_count
        self._refused, self._refused_count = [], 0
        what = "one frame was refused" if count == 1 else f"{count} frames were refused, the first"
        raise ClientError("rejected", f"{what}: {_sentence_of(rejects[0])}", rejects)

    # waiting

    def _assert_usable(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._ending:
            raise ClientError("feed_ended", "this feed was ended; open another client to continue")

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: condition() or self._failure is not None)
        if not condition() and self._failure is not None:
            raise self._failure

    async def _make_room(self) -> None:
        if self._when_full == "error":
            raise ClientError(
                "buffer_full",
                f"{self._buffer_frames} frames wait for their ack; raise buffer_frames, or send more slowly",
            )
        if self._when_full == "drop-oldest":
            dropped = self._buffer.popleft()
            self._sent = max(0, self._sent - 1)
            self._emit("drop", {"frame": dropped.local})
        else:
            await self._until(lambda: len(self._buffer) < self._buffer_frames)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
        self._work.set()

    # connections, one after the other

    async def _run(self) -> None:
        impatience = asyncio.ensure_future(self._first_answer())
        try:
            await self._stay_connected()
        except Exception as error:  # a fault of ours: whoever waits must learn of it
            log.exception("the feed failed")
            await self._shut(1011, "fault", ClientError("fault", f"this client failed: {error!r}"))
        finally:
            impatience.cancel()

    async def _first_answer(self) -> None:
        """Gives up when the server has not said anything in time."""
        await asyncio.sleep(self._connect_timeout)
        if self._answered or self._retry_forever:
            return
        text = (
            f"no connection to {self._address} within {self._connect_timeout:g} s ({self._trouble}); check that the "
            "evaluator runs there, its host, port and path, or give retry_forever"
        )
        await self._shut(1006, "unreachable", ClientError("unreachable", text))

    async def _stay_connected(self) -> None:
        attempt = 0
        while self._failure is None:
            before = self._welcome
            code, reason = await self._connection()
            if self._failure is not None:
                return
            if self._ended and code == 1000:
                await self._shut(code, reason, ClientError("feed_ended", "this feed has ended"))
                return
            if code in _FINAL_CLOSE_CODES:
                known = self._refusal if self._refusal and self._refusal["code"] == reason else None
                said = f" ({_sentence_of(known)})" if known else ""
                text = f"the server closed the feed for good: {code} {reason}{said}"
                await self._shut(code, reason, ClientError(reason or str(code), text))
                return
            if self._welcome is not before:
                attempt = 0
            hint = (self._welcome or {}).get("reconnectMaxMs")
            most = self._backoff_max if hint is None else min(self._backoff_max, hint / 1000)
            longest = min(most, self._backoff * 2 ** min(attempt, 30))
            # the feeds of a stream come back soon after each other, many clients not in the same instant
            wait = longest * (0.75 + self._rng() / 4)
            attempt += 1
            log.warning("no connection to %s (%s %s); trying again in %.1f s", self._address, code, reason, wait)
            self._emit("reconnecting", {"attempt": attempt, "wait": wait, "code": code, "reason": reason})
            await asyncio.sleep(wait)

    async def _connection(self) -> Tuple[int, str]:
        """Lives through one connection; returns the code and reason it ended with."""
        socket: Any = None
        tasks: List[asyncio.Future[Any]] = []
        try:
            protocols = ["tgospa.v1"]
            secret = await self._secret()
            if secret is not None:
                protocols.append(f"bearer.{secret}")
            socket = await websockets.connect(
                self._address,
                subprotocols=protocols,  # type: ignore[arg-type]
                compression=None,
                open_timeout=self._connect_timeout,
                close_timeout=1,
                # the server may stop reading for a while, and then answers no pings: see _watch
                ping_interval=None,
            )
            await socket.send(json.dumps(self._hello_message()))
            while not self._connected:
                await self._receive(await asyncio.wait_for(socket.recv(), self._connect_timeout))
            tasks = [asyncio.ensure_future(one) for one in (self._read(socket), self._pump(socket), self._watch(socket))]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return 1006, "the connection is gone"
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "cut")
        except (asyncio.TimeoutError, TimeoutError):
            return 1006, "the server is silent"
        except (OSError, WebSocketException) as error:
            self._trouble = str(error) or type(error).__name__
            await self._judge_refusal(error)
            return 1006, self._trouble
        finally:
            self._connected = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if socket is not None:
                await _leave(socket)

    async def _judge_refusal(self, error: Exception) -> None:
        """An upgrade that is refused before the feed was ever open is a mistake of the caller, mostly."""
        status, body = _answer_of(error)
        if status is None:
            return
        code, message = _refusal_of(body)
        self._trouble = f"HTTP {status}: {message}" if message else f"HTTP {status}"
        passing = status >= 500 or status in _PASSING_STATUSES or (status == 401 and callable(self._token))
        if passing or self._retry_forever or self._welcome is not None:
            return
        text = f"{self._address} refused the connection with {self._trouble}; check port, path and token"
        await self._shut(1006, f"HTTP {status}", ClientError(code or f"http_{status}", text))

    async def _secret(self) -> Optional[str]:
        try:
            token = self._token() if callable(self._token) else self._token
            return await token if inspect.isawaitable(token) else token
        except Exception as error:
            raise OSError(f"no token: {error}") from error

    def _hello_message(self) -> Dict[str, Any]:
        hello: Dict[str, Any] = {"type": "hello", "format": "native", "client": "tgospa-live-python", **self._hello}
        if self._welcome is not None and self._offset is not None:
            hello["resume"] = {"session": self._welcome["session"], "seq": self._first_local() + self._offset}
        return hello

    def _first_local(self) -> int:
        return self._buffer[0].local if self._buffer else self._locals + 1

    async def _read(self, socket: Any) -> None:
        while True:
            await self._receive(await socket.recv())

    async def _watch(self, socket: Any) -> None:
        """A connection that is silent for long is asked for a sign of life, then given up."""
        assert self._welcome is not None
        heartbeat = self._welcome["heartbeatMs"] / 1000
        while True:
            await asyncio.sleep(heartbeat)
            silent = asyncio.get_running_loop().time() - self._heard_at
            if silent > 2.5 * heartbeat:
                raise asyncio.TimeoutError
            if silent > heartbeat / 2:
                await socket.send('{"type":"ping"}')

    # what the server says

    async def _receive(self, text: Union[str, bytes]) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        self._answered = True
        message = json.loads(text)
        kind = message["type"]
        if kind == "welcome":
            self._welcomed(message)
        elif kind == "ack":
            self._settle(message["seq"])
            self._emit("ack", {"seq": message["seq"]})
            if "skipped" in message:
                self._skipped(message["skipped"])
        elif kind == "reject":
            self._rejected(message)
        elif kind == "ended":
            self._ended = True
        await self._notify()

    def _welcomed(self, welcome: Welcome) -> None:
        self._welcome = welcome
        next_seq = welcome["nextSeq"]
        # somebody else wrote to this feed meanwhile: number on from there, rather than lose what is held
        if self._offset is None or next_seq - 1 > self._last_sent_seq:
            self._offset = next_seq - self._first_local()
        self._sent = 0
        self._settle(next_seq - 1)
        self._connected = True
        self._emit("open", welcome)

    def _settle(self, seq: int) -> None:
        """Everything up to this number is stored or was rejected."""
        assert self._offset is not None
        while self._buffer and self._buffer[0].local <= seq - self._offset:
            self._release(0)

    def _rejected(self, reject: Reject) -> None:
        if "seq" in reject and self._offset is not None:
            local = reject["seq"] - self._offset
            at = next((n for n, held in enumerate(self._buffer) if held.local == local), None)
            if at is not None:
                self._release(at)
        if not self._connected:
            self._refusal = reject
        self._report(reject)

    def _release(self, at: int) -> None:
        del self._buffer[at]
        if at < self._sent:
            self._sent -= 1

    # what is sent

    async def _pump(self, socket: Any) -> None:
        assert self._welcome is not None
        credit = self._welcome["credit"]
        told_end = False
        while True:
            self._work.clear()
            while self._sent < min(credit, len(self._buffer)):
                if self._too_large(self._buffer[self._sent].tail):
                    await self._give_up_large()
                else:
                    await socket.send(self._next_batch(credit))
            if self._ending and not told_end and not self._ended and not self._buffer:
                told_end = True
                await socket.send('{"type":"end"}')
            await self._work.wait()

    def _next_batch(self, credit: int) -> str:
        assert self._welcome is not None and self._offset is not None
        frames: List[str] = []
        size = 32
        while self._sent < min(credit, len(self._buffer)) and len(frames) < self._batch_frames:
            held = self._buffer[self._sent]
            size += len(held.tail) + _FRAME_OVERHEAD_BYTES
            if frames and size > self._welcome["maxPayloadBytes"]:
                break
            seq = held.local + self._offset
            frames.append(f'"seq":{seq},{held.tail}')
            self._last_sent_seq = max(self._last_sent_seq, seq)
            self._sent += 1
        if len(frames) == 1:
            kind = "reports" if held.tail.startswith('"reports"') else "frame"
            return f'{{"type":"{kind}",' + frames[0]
        return '{"type":"frames","frames":[{' + ",{".join(frames) + "]}"

    def _too_large(self, tail: str) -> bool:
        """Whether the server would close the connection over this frame; unknown before the first welcome."""
        return self._welcome is not None and len(tail) > self._welcome["maxPayloadBytes"] - _FRAME_OVERHEAD_BYTES

    def _too_large_message(self) -> str:
        assert self._welcome is not None
        most = self._welcome["maxPayloadBytes"]
        return f"the frame is larger than a message of {most} bytes; send fewer objects, or raise limits.payloadBytes"

    async def _give_up_large(self) -> None:
        """A frame that was taken before the limit was known."""
        assert self._offset is not None
        seq = self._buffer[self._sent].local + self._offset
        del self._buffer[self._sent]
        message = self._too_large_message()
        self._report({"seq": seq, "code": "payload_too_large", "path": "", "message": message})
        await self._notify()

    async def _shut(self, code: int, reason: str, failure: ClientError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        self._emit("close", {"code": code, "reason": reason})
        await self._notify()

    def _emit(self, event: str, value: Any) -> None:
        for listener in list(self._listeners[event]):
            try:
                listener(value)
            except Exception:  # a listener must not end the feed
                log.exception("a listener of %s failed", event)


def _frame_tail(objects: Sequence[Object], k: Optional[int], t: Optional[float]) -> str:
    if k is None and t is None:
        raise ValueError("a frame needs its number k, its time t, or both")
    frame: Dict[str, Any] = {"objects": list(objects)}
    if k is not None:
        frame["k"] = int(k)
    if t is not None:
        frame["t"] = float(t)
    # NaN is no JSON: say so here, where it can still be found
    return json.dumps(frame, separators=(",", ":"), allow_nan=False)[1:]


def _sentence_of(reject: Reject) -> str:
    # most messages begin with the place themselves
    path, message = reject.get("path", ""), reject["message"]
    place = [f"frame {reject['seq']}"] if "seq" in reject else []
    if path and not path.endswith(message.split(" ", 1)[0]):
        place.append(path)
    return f"{' '.join(place)}{': ' if place else ''}{message} [{reject['code']}]"


def _answer_of(error: Exception) -> Tuple[Optional[int], bytes]:
    """Status and body of a refused upgrade; old versions of websockets tell the status only."""
    response = getattr(error, "response", None)
    if response is not None:
        return response.status_code, response.body or b""
    return getattr(error, "status_code", None), b""


def _refusal_of(body: bytes) -> Tuple[Optional[str], Optional[str]]:
    try:
        found = json.loads(body)
        return found["code"], found["message"]
    except (ValueError, KeyError, TypeError):
        return None, None


def _address_of(url: str) -> str:
    scheme, netloc, path, query, fragment = urlsplit(url)
    if scheme not in ("ws", "wss", "http", "https"):
        raise ValueError(f"url is {url!r}; expected something like http://127.0.0.1:9477")
    scheme = {"http": "ws", "https": "wss"}.get(scheme, scheme)
    return urlunsplit((scheme, netloc, "/v1/ingest" if path in ("", "/") else path, query, fragment))


async def _leave(socket: Any) -> None:
    try:
        await asyncio.wait_for(socket.close(1000), 2)
    except (OSError, asyncio.TimeoutError, TimeoutError, WebSocketException):
        pass


def connect(url: str, stream: str, **options: Any) -> FeedClient:
    """Opens a feed and keeps it open; options as of ``FeedClient``. Call it inside a running event loop."""
    return FeedClient(url, stream, **options)
