"""The client against a real server: TGOSPA_URL names one that is running, without tokens."""

from __future__ import annotations

import asyncio
import json
import os
import unittest
import urllib.request
import uuid
from typing import Any, Dict, List

from tgospa_live import ClientError, Feed, FeedClient, connect
from wire import Wire

URL = os.environ.get("TGOSPA_URL", "")
PATIENCE = 60


def box(k: int) -> List[Any]:
    return [{"id": "7", "box": [10 + k % 50, 20, 30, 40], "class": "person", "confidence": 0.9}]


def feeds_of(stream: str) -> Dict[str, Dict[str, Any]]:
    with urllib.request.urlopen(f"{URL}/v1/streams", timeout=PATIENCE) as answer:
        found = json.load(answer)
    streams = found if isinstance(found, list) else found["streams"]
    return {feed["tracker"] or "": feed for one in streams if one["stream"] == stream for feed in one["feeds"]}


def event(client: FeedClient, name: str) -> Any:
    future = asyncio.get_running_loop().create_future()
    client.on(name, lambda value: future.done() or future.set_result(value))
    return asyncio.wait_for(future, PATIENCE)


@unittest.skipUnless(URL, "TGOSPA_URL names no server")
class Client(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.stream = f"python-{uuid.uuid4().hex[:12]}"
        self.wire = await Wire(URL).open()

    async def asyncTearDown(self) -> None:
        await self.wire.close()

    async def assert_stored(self, count: int) -> None:
        """What is acked is on disk; the server tells a moment later."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE
        while True:
            found = await loop.run_in_executor(None, feeds_of, self.stream)
            seq = found["sort"]["seq"] if "sort" in found else 0
            if seq == count:
                return
            if seq > count or loop.time() > deadline:
                self.fail(f"{seq} frames are stored, expected {count}")
            await asyncio.sleep(0.02)

    def open(self, **options: Any) -> FeedClient:
        return connect(self.wire.url, self.stream, **{"tracker": "sort", "backoff": 0.01, "backoff_max": 0.1, **options})

    async def test_sends_what_it_is_given_also_before_it_is_connected_and_flushes(self) -> None:
        async with self.open() as feed:
            self.assertEqual([await feed.send(box(k), k=k) for k in (1, 2, 3)], [1, 2, 3])
            await asyncio.wait_for(feed.flush(), PATIENCE)
            self.assertEqual(feed.pending, 0)
        await self.assert_stored(3)

    async def test_sends_reports_alone_and_many_at_once(self) -> None:
        async with self.open() as feed:
            await feed.send_reports([{"id": "7", "t": 1.0, "box": [1, 2, 3, 4], "velocity": [1, 0]}])
            await asyncio.wait_for(feed.flush(), PATIENCE)
            for t in (2.0, 3.0):
                await feed.send_reports([{"id": "7", "t": t, "box": [t, 2, 3, 4]}, {"id": "8", "t": t, "end": True}])
            await asyncio.wait_for(feed.flush(), PATIENCE)
        await self.assert_stored(3)

    async def test_ends_the_feed_after_everything_is_stored(self) -> None:
        feed = self.open()
        for k in range(1, 601):
            await feed.send(box(k), k=k)
        await asyncio.wait_for(feed.end(), PATIENCE)
        await self.assert_stored(600)
        self.assertTrue(feeds_of(self.stream)["sort"]["ended"])
        with self.assertRaises(ClientError) as caught:
            await feed.send(box(1), k=601)
        self.assertEqual(caught.exception.code, "feed_ended")
        await feed.close()

    async def test_comes_back_after_cuts_and_resends_from_the_last_ack(self) -> None:
        async with self.open(buffer_frames=100) as feed:
            for k in range(1, 1001):
                if k % 250 == 0:
                    self.wire.cut_after = 2_000  # in the middle of a message
                await feed.send(box(k), k=k)
            await asyncio.wait_for(feed.flush(), PATIENCE)
        self.assertGreaterEqual(self.wire.cuts, 2)
        await self.assert_stored(1000)

    async def test_waits_longer_each_time_with_jitter(self) -> None:
        self.wire.refusing = True
        waits: List[float] = []
        enough = asyncio.get_running_loop().create_future()

        def note(value: Any) -> None:
            waits.append(round(value["wait"], 6))
            if len(waits) == 5:
                enough.set_result(None)

        feed = self.open(backoff=0.01, backoff_max=0.05, rng=lambda: 0.5)
        feed.on("reconnecting", note)
        await asyncio.wait_for(enough, PATIENCE)
        self.assertEqual(waits[:5], [0.00875, 0.0175, 0.035, 0.04375, 0.04375])
        await feed.close(flush=False)

    async def test_waits_no_longer_than_the_server_asks_for(self) -> None:
        feed = self.open(backoff=1.0, backoff_max=60.0, rng=lambda: 1.0)
        await asyncio.wait_for(feed.ready(), PATIENCE)
        self.wire.refusing = True
        waits: List[float] = []
        enough = asyncio.get_running_loop().create_future()

        def note(value: Any) -> None:
            waits.append(value["wait"])
            if len(waits) == 3:
                enough.set_result(None)

        feed.on("reconnecting", note)
        self.wire.cut()
        await asyncio.wait_for(enough, PATIENCE)
        self.assertEqual(waits, [1.0, 1.5, 1.5])
        await feed.close(flush=False)

    async def test_tells_where_it_found_no_server(self) -> None:
        await self.wire.close()
        feed = self.open(connect_timeout=0.3)
        await feed.send(box(1), k=1)
        for wait in (feed.flush(), feed.ready(), feed.end()):
            with self.assertRaises(ClientError) as caught:
                await asyncio.wait_for(wait, PATIENCE)
            self.assertEqual(caught.exception.code, "unreachable")
        self.assertIn(self.wire.url.replace("http", "ws"), str(caught.exception))
        with self.assertRaises(ClientError):
            await feed.send(box(2), k=2)
        await feed.close()

    async def test_goes_on_trying_for_ever_when_it_is_asked_to(self) -> None:
        self.wire.refusing = True
        feed = self.open(connect_timeout=0.1, retry_forever=True)
        await feed.send(box(1), k=1)
        await asyncio.sleep(0.5)  # well beyond the time for a first connection
        self.wire.refusing = False
        await asyncio.wait_for(feed.close(), PATIENCE)
        await self.assert_stored(1)

    async def test_fails_at_once_over_a_wrong_path(self) -> None:
        feed = connect(f"{URL}/v1/ingset", self.stream, tracker="sort")
        with self.assertRaises(ClientError) as caught:
            await asyncio.wait_for(feed.ready(), PATIENCE)
        self.assertIn("HTTP 404", str(caught.exception))
        await feed.close()
        with self.assertRaises(ValueError):
            connect("localhost:9477", self.stream, tracker="sort")

    async def test_flush_raises_what_was_refused_when_nobody_listens(self) -> None:
        feed = self.open()
        await feed.send([*box(1), *box(1)], k=1)
        await feed.send(box(2), k=2)
        with self.assertRaises(ClientError) as caught:
            await asyncio.wait_for(feed.flush(), PATIENCE)
        self.assertEqual(caught.exception.code, "rejected")
        self.assertIn("one frame was refused: frame 1: objects[1].id", str(caught.exception))
        self.assertEqual([one["seq"] for one in caught.exception.rejects], [1])
        await feed.flush()
        await feed.close()
        await self.assert_stored(2)

    async def test_full_buffer_makes_send_wait_until_the_server_is_there(self) -> None:
        self.wire.refusing = True
        feed = self.open(buffer_frames=3)
        for k in (1, 2, 3):
            await feed.send(box(k), k=k)
        fourth = asyncio.ensure_future(feed.send(box(4), k=4))
        await event(feed, "reconnecting")
        self.assertFalse(fourth.done())
        self.assertEqual(feed.pending, 3)
        self.wire.refusing = False
        self.assertEqual(await asyncio.wait_for(fourth, PATIENCE), 4)
        await asyncio.wait_for(feed.close(), PATIENCE)
        await self.assert_stored(4)

    async def test_full_buffer_drops_the_oldest_or_raises_as_chosen(self) -> None:
        self.wire.refusing = True
        strict = self.open(buffer_frames=2, when_full="error")
        for k in (1, 2):
            await strict.send(box(k), k=k)
        with self.assertRaises(ClientError) as caught:
            await strict.send(box(3), k=3)
        self.assertEqual(caught.exception.code, "buffer_full")
        await strict.close(flush=False)
        dropped: List[int] = []
        loose = self.open(buffer_frames=2, when_full="drop-oldest")
        loose.on("drop", lambda value: dropped.append(value["frame"]))
        for k in (1, 2, 3, 4):
            await loose.send(box(k), k=k)
        self.assertEqual(dropped, [1, 2])
        self.wire.refusing = False
        await asyncio.wait_for(loose.close(), PATIENCE)
        await self.assert_stored(2)

    async def test_tells_about_a_rejected_frame_and_goes_on(self) -> None:
        async with self.open() as feed:
            told = event(feed, "reject")
            await feed.send([{"id": "1", "box": [0, 0, -5, 5]}], k=1)
            await feed.send(box(2), k=2)
            reject = await told
            self.assertEqual(reject["code"], "frame_invalid")
            self.assertTrue(reject["path"].endswith("objects[0].box[2]"), reject)
            await asyncio.wait_for(feed.flush(), PATIENCE)
        await self.assert_stored(2)

    async def test_tells_about_an_object_that_was_left_out(self) -> None:
        async with self.open() as feed:
            told = event(feed, "skip")
            await feed.send([*box(1), {"id": "8", "box": [0, 0, 0, 5]}], k=1)
            skipped = await told
            self.assertEqual((skipped["objects"], skipped["rule"]), (1, "size_impossible"))
            await asyncio.wait_for(feed.flush(), PATIENCE)
        await self.assert_stored(1)

    async def test_gives_up_a_frame_that_is_too_large_and_goes_on(self) -> None:
        many = [{"id": f"{n:0128}", "box": [0, 0, 1, 1]} for n in range(9999)]
        feed = self.open()
        told = event(feed, "reject")
        await feed.send(many, k=1)  # the limit is not known yet
        await feed.send(box(2), k=2)
        self.assertEqual((await told)["code"], "payload_too_large")
        await asyncio.wait_for(feed.flush(), PATIENCE)
        with self.assertRaises(ClientError):
            await feed.send(many, k=3)
        await feed.close()

    async def test_stops_for_good_when_the_hello_is_refused(self) -> None:
        feed = self.open(settings={"windowFrame": 3})
        told = event(feed, "reject")
        closed = event(feed, "close")
        self.assertEqual((await told)["code"], "hello_invalid")
        self.assertEqual((await closed)["code"], 4400)
        with self.assertRaises(ClientError):
            await feed.send(box(1), k=1)
        await feed.close()

    async def test_refuses_what_is_no_json_or_has_no_place_in_time(self) -> None:
        feed = self.open()
        with self.assertRaises(ValueError):
            await feed.send(box(1))
        with self.assertRaises(ValueError):
            await feed.send([{"id": "1", "point": [float("nan"), 1]}], k=1)
        with self.assertRaises(ValueError):
            connect(URL, self.stream)
        with self.assertRaises(ValueError):
            feed.on("acks", print)
        await feed.close()

    async def test_asks_for_the_token_again_at_every_connection(self) -> None:
        asked: List[int] = []

        async def token() -> str:
            asked.append(1)
            if len(asked) == 1:
                raise RuntimeError("the vault is closed")
            return "a-token-that-nobody-checks"

        async with self.open(token=token) as feed:
            await feed.send(box(1), k=1)
            await asyncio.wait_for(feed.flush(), PATIENCE)
        self.assertGreaterEqual(len(asked), 2)

    async def test_serves_programs_without_an_event_loop(self) -> None:
        def program() -> None:
            with Feed(self.wire.url, self.stream, tracker="sort", buffer_frames=16) as feed:
                for k in range(1, 301):
                    feed.send(box(k), k=k)
                feed.flush()
                self.assertEqual(feed.pending, 0)
                self.assertTrue(feed.connected)
            with self.assertRaises(RuntimeError):
                feed.send(box(1), k=301)

        await asyncio.get_running_loop().run_in_executor(None, program)
        await self.assert_stored(300)


if __name__ == "__main__":
    unittest.main()
