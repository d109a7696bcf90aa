"""Sends a scene from standard input through a wire that is cut now and then: run by test/python.test.ts.

Input: JSON ``{"stream", "reference": [[objects], ...], "tracker": [[objects], ...]}``, frame by frame from k = 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from tgospa_live import connect
from wire import Wire


async def main() -> None:
    scene = json.load(sys.stdin)
    wire = await Wire(os.environ["TGOSPA_URL"]).open()
    options = {"backoff": 0.01, "backoff_max": 0.1, "buffer_frames": 64}
    reference = connect(wire.url, scene["stream"], role="reference", **options)
    tracker = connect(wire.url, scene["stream"], tracker="python", **options)
    for n, (truths, tracks) in enumerate(zip(scene["reference"], scene["tracker"]), 1):
        if n % 40 == 0:
            wire.cut()
        await reference.send(truths, k=n)
        await tracker.send(tracks, k=n)
    await asyncio.gather(reference.end(), tracker.end())
    await asyncio.gather(reference.close(), tracker.close())
    await wire.close()
    print(json.dumps({"cuts": wire.cuts}))


asyncio.run(main())
