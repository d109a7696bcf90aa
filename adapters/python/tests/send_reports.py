"""Sends transponders' reports and a radar's scans from standard input, as a program without an event loop would: run by
test/system/reports.test.ts.

Input: JSON ``{"stream", "reports": [report, ...], "scans": [{"t", "objects"}, ...]}``.
"""

from __future__ import annotations

import json
import os
import sys

from tgospa_live import Feed

scene = json.load(sys.stdin)
url, stream = os.environ["TGOSPA_URL"], scene["stream"]
with Feed(url, stream, role="reference", feed="adsb", shape="point") as transponders, Feed(url, stream, tracker="radar") as radar:
    transponders.ready()
    radar.ready()
    for report in scene["reports"]:
        transponders.send_reports([report])
    for scan in scene["scans"]:
        radar.send(scan["objects"], t=scan["t"])
    transponders.end()
    radar.end()
