/**
 * The table of formats. A new one gets its file and its row here; the contract test, the fuzzer, the benchmark and the
 * README's test go over this table.
 */

import type { Problem } from '../src/metric/input-error.js';
import { cvat } from './formats/cvat.js';
import { deepstreamFull } from './formats/deepstream-full.js';
import { deepstreamKitti } from './formats/deepstream-kitti.js';
import { deepstreamMinimal } from './formats/deepstream-minimal.js';
import { frigate } from './formats/frigate.js';
import { kitti } from './formats/kitti.js';
import { mapping } from './formats/mapping.js';
import { motchallenge } from './formats/motchallenge.js';
import { native } from './formats/native.js';
import { onvifJson } from './formats/onvif-json.js';
import { onvifXml } from './formats/onvif-xml.js';
import { autoware, rosDetection2D, rosDetection3D } from './formats/ros.js';
import { supervisionCsv, supervisionJson } from './formats/supervision.js';
import { ultralytics } from './formats/ultralytics.js';
import { type Adapter, type Format, makeFormat } from './kit/adapter.js';
import type { GivenOptions } from './kit/options.js';

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
