/**
 * The table of formats. A new one gets its file, its row here, a line in recognition.ts and a section of README.md; for
 * its tests a sample (test/kit/adapter-samples.ts), a writer (test/kit/format-writers.ts) and a case
 * (test/cases/adapters). The contract test, the fuzzer, the benchmark and the README's test go over this table.
 */

import type { Problem } from '../src/metric/input-error.js';
import { cocoVideo } from './formats/coco-video.js';
import { cvat } from './formats/cvat.js';
import { deepstreamFull } from './formats/deepstream-full.js';
import { deepstreamKitti } from './formats/deepstream-kitti.js';
import { deepstreamMinimal } from './formats/deepstream-minimal.js';
import { frigate } from './formats/frigate.js';
import { kitti } from './formats/kitti.js';
import { mapping } from './formats/mapping.js';
import { motchallenge } from './formats/motchallenge-feed.js';
import { native } from './formats/native.js';
import { onvifJson } from './formats/onvif-json.js';
import { onvifXml } from './formats/onvif-xml.js';
import { autoware, rosDetection2D, rosDetection3D } from './formats/ros.js';
import { supervisionCsv, supervisionJson } from './formats/supervision.js';
import { uaDetrac } from './formats/ua-detrac.js';
import { ultralytics, ultralyticsTxt } from './formats/ultralytics.js';
import { visdrone } from './formats/visdrone.js';
import { type Adapter, type Format, makeFormat } from './kit/adapter.js';
import { type GivenOptions, readOptions } from './kit/options.js';
import { REREADING_OPTIONS } from './kit/rereading.js';

const TABLE: readonly Adapter[] = [
  native,
  motchallenge,
  kitti,
  visdrone,
  uaDetrac,
  cocoVideo,
  ultralytics,
  ultralyticsTxt,
  supervisionJson,
  supervisionCsv,
  deepstreamMinimal,
  deepstreamFull,
  deepstreamKitti,
  cvat,
  rosDetection2D,
  rosDetection3D,
  autoware,
  frigate,
  onvifJson,
  onvifXml,
  mapping,
];

export const adapters: ReadonlyMap<string, Adapter> = new Map(TABLE.map((adapter) => [adapter.name, adapter]));

/** A format as the configuration names it: an adapter with options. */
export interface NamedFormat {
  adapter: string;
  options: GivenOptions;
}

/**
 * Finds the adapter behind a name, its configured options first, then those given. What is wrong with the options is
 * told as a list; null: nothing has this name.
 */
export function formatByName(
  name: string,
  given: GivenOptions = {},
  configured: Readonly<Record<string, NamedFormat>> = {},
): Format | Problem[] | null {
  const entry = Object.hasOwn(configured, name) ? configured[name] : { adapter: name, options: {} };
  const adapter = adapters.get(entry.adapter);
  return adapter ? makeFormat(adapter, { ...entry.options, ...given }) : null;
}

/** The same for a file, which may also be read otherwise than its format says. */
export function fileFormat(name: string, given: GivenOptions): Format | Problem[] | null {
  const adapter = adapters.get(name);
  if (!adapter) return null;
  const isOwn = ([key]: [string, unknown]) => key in adapter.options || !(key in REREADING_OPTIONS);
  const entries = Object.entries(given);
  const format = makeFormat(adapter, Object.fromEntries(entries.filter(isOwn)));
  const rereading = readOptions(REREADING_OPTIONS, Object.fromEntries(entries.filter((entry) => !isOwn(entry))));
  if (Array.isArray(format) || Array.isArray(rereading))
    return [...(Array.isArray(format) ? format : []), ...(Array.isArray(rereading) ? rereading : [])];
  const isRead = Object.values(rereading).some((value) => value !== undefined);
  return { ...format, given: new Set(Object.keys(given)), ...(isRead && { rereading }) };
}
