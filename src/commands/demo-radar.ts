/**
 * The scene of a radar: a tracker with a frame every four seconds, against a reference of transponders that report
 * themselves one by one. The profile is what `tune` proposes for a round without faults. Time runs faster than the
 * clock, so that a round takes half a minute.
 */
import { tune } from '../index.js';
import { RADAR, radarRound, SCAN_S, SCANS } from '../simulation/radar.js';
import { wrapText } from './console/table.js';
import type { DemoFeeds, DemoScene } from './demo-scene.js';
import { openFeed, type Pace } from './player.js';

const STREAM = 'approach';
const GOOD = 'sharp';
const FAULTY = 'blunt';
const FIRST_SEED = 1;
const COLUMNS = 80;

/** What `tune` proposes for a round without faults, and what that means. */
export function radarProfile() {
  const frames = radarRound(FIRST_SEED, false).scans.map(({ truths, trackers }) => ({
    reference: truths,
    tracker: trackers.sharp,
  }));
  const { candidate } = tune([{ tracker: GOOD, frames }], { distance: 'geodesic' });
  return candidate!;
}

/** How a radar with transponders for truth is judged; see `coverage` and `reports` in the example configuration. */
export const radarConfig = (profile: object) => ({
  profiles: { radar: profile },
  streams: {
    [STREAM]: {
      profiles: ['radar'],
      windowFrames: 60,
      settleFrames: 10,
      pairing: { by: 'time', latenessMs: 1500, silenceMs: 5000 },
      reports: { greatestGapMs: 10_000 },
      coverage: {
        reference: 'transponder',
        regions: [{ sector: { at: RADAR.at, range: [0, RADAR.mandatory] } }],
        within: [{ sector: { at: RADAR.at, range: [RADAR.nearest, RADAR.range] } }],
      },
      performance: { enabled: true, spanFrames: 15, strideFrames: 5 },
    },
  },
});

export function radarDemo(): DemoScene {
  const { words, explanation } = radarProfile();
  const { at, range, mandatory } = RADAR;
  return {
    stream: STREAM,
    trackers: [GOOD, FAULTY],
    config: radarConfig(words),
    unit: 'turn',
    roundLength: SCANS,
    faults: radarRound(FIRST_SEED + 1).faults,
    about: [
      ...wrapText(
        `A radar at ${at.join(', ')} sees aircraft up to ${range / 1000} km away. The truth is what transponders report, each at its own time: of those beyond the radar's range nothing is expected, and tracks of aircraft without one are not false, unless they are closer than ${mandatory / 1000} km, where everybody must have one. The profile is what tune proposes:`,
        COLUMNS,
        '',
      ),
      ...explanation.flatMap((sentence) => wrapText(`- ${sentence}`, COLUMNS, '  ')),
      '',
    ],
    open,
    play,
  };
}

const open = (url: string): DemoFeeds => ({
  reference: openFeed({ url, stream: STREAM, role: 'reference', feed: 'adsb', shape: 'point' }),
  good: openFeed({ url, stream: STREAM, role: 'tracker', tracker: GOOD, shape: 'point' }),
  faulty: openFeed({ url, stream: STREAM, role: 'tracker', tracker: FAULTY, shape: 'point' }),
});

/** Round after round, with other aircraft each time. */
async function play(feeds: DemoFeeds, { calm }: { calm: number }, pace: Pace): Promise<void> {
  const start = Math.floor(Date.now() / 1000);
  for (let lap = 1; ; lap++) {
    const { scans } = radarRound(FIRST_SEED + lap - 1, lap > calm);
    const since = start + (lap - 1) * SCANS * SCAN_S;
    for (const { t, reports, trackers } of scans) {
      if (!(await pace.due())) return;
      await feeds.reference.sendReports(reports.map((report) => ({ ...report, t: since + report.t })));
      await feeds.good.send({ t: since + t, objects: trackers.sharp });
      await feeds.faulty.send({ t: since + t, objects: trackers.blunt });
    }
  }
}
