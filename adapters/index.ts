/**
 * The table of formats. A new one gets its file and its row here; the contract test, the fuzzer, the benchmark and the
 * README's test go over this table.
 */

import type { Problem } from '../src/tgospa/input-error.js';
import { type Adapter, type Format, makeFormat } from './adapter.js';
import { cvat } from './cvat.js';
import { deepstreamFull } from './deepstream-full.js';
import { deepstreamKitti } from './deepstream-kitti.js';
import { deepstreamMinimal } from './deepstream-minimal.js';
import { frigate } from './frigate.js';
import { kitti } from './kitti.js';
import { mapping } from './mapping.js';
import { motchallenge } from './motchallenge.js';
import { native } from './native.js';
import { onvifJson } from './onvif-json.js';
import { onvifXml } from './onvif-xml.js';
import type { GivenOptions } from './options.js';
import { autoware, rosDetection2D, rosDetection3D } from './ros.js';
import { supervisionCsv, supervisionJson } from './supervision.js';
import { ultralytics } from './ultralytics.js';

const TABLE: readonly Adapter[] = [
  native,
  motchallenge,
  kitti,
  ultralytics,
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
