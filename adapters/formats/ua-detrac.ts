/**
 * UA-DETRAC annotations, XML: <sequence> with <ignored_region> and a <frame num> for each frame, whose <target id> has
 * a <box left top width height> and an <attribute vehicle_type>. Frames count from 1. A message is a whole document.
 */

import type { Box } from '../../src/metric/evaluation.js';
import type { Role } from '../../src/wire/feed.js';
import {
  type Decoded,
  defineAdapter,
  type JudgingOptions,
  Mistake,
  type Part,
  type Stamp,
  WholeFrames,
} from '../kit/adapter.js';
import { refuseStamp } from '../kit/fields.js';
import { BOX_OPTIONS, objectOf, Placement, type PlacementOptions } from '../kit/placement.js';
import { XmlReader } from '../kit/xml.js';

interface Document {
  parts: Part[];
  regions: Box[];
}

class DetracDecoder extends WholeFrames {
  constructor(readonly options: PlacementOptions) {
    super();
  }

  protected override read(message: unknown, stamp?: Stamp): Part[] {
    refuseStamp(stamp);
    if (typeof message !== 'string') throw new Mistake('', message, 'must be text: a UA-DETRAC XML document');
    return documentOf(message, this.options).parts;
  }
}

function documentOf(text: string, options: PlacementOptions): Document {
  const reader = new XmlReader(text);
  const placement = new Placement(options);
  reader.openRoot('sequence', 'as UA-DETRAC annotates it');
  const document: Document = { parts: [], regions: [] };
  let part: Part | null = null;
  let target: { id: string; box: Box | null; kind?: string } | null = null;
  let isInRegion = false;
  for (let event = reader.next(); event !== 'end'; event = reader.next()) {
    const { name } = reader;
    if (event === 'close') {
      if (name === 'ignored_region') isInRegion = false;
      if (name === 'frame') part = null;
      if (name === 'target' && target) {
        if (!target.box) throw reader.tagMistake(`target ${target.id} has no <box>`);
        part?.objects.push(objectOf(target.id, target.box, target.kind));
        target = null;
      }
    } else if (name === 'ignored_region') isInRegion = true;
    else if (name === 'frame') {
      part = { k: frameOf(reader, placement), objects: [] };
      document.parts.push(part);
    } else if (name === 'target' && part) target = { id: idOf(reader), box: null };
    else if (name === 'box' && isInRegion) document.regions.push(boxOf(reader, placement));
    // what hides a target has boxes too
    else if (name === 'box' && target && !target.box) target.box = boxOf(reader, placement);
    else if (name === 'attribute' && target) target.kind = reader.attribute('vehicle_type') || undefined;
  }
  return document;
}

function frameOf(reader: XmlReader, placement: Placement): number {
  const frame = reader.number('num');
  if (!Number.isSafeInteger(frame) || frame < 0) throw reader.attributeMistake('num', 'must be a whole number from 0');
  return placement.frame(frame, '');
}

function idOf(reader: XmlReader): string {
  const id = reader.attribute('id');
  if (!id) throw reader.attributeMistake('id', 'must be there');
  return id;
}

function boxOf(reader: XmlReader, placement: Placement): Box {
  const width = reader.number('width');
  const height = reader.number('height');
  if (!(width > 0 && height > 0)) throw reader.attributeMistake('width', 'and height must be above 0');
  return placement.box(reader.number('left'), reader.number('top'), width, height);
}

function readText(text: string, options: PlacementOptions, role: Role, { rules }: JudgingOptions): Decoded {
  try {
    const { parts, regions } = documentOf(text, options);
    if (rules === 'ua-detrac' && role === 'reference')
      for (const part of parts) part.aside = regions.map((box) => ({ box, role: 'region' }));
    const notes =
      regions.length > 0 && rules === undefined && role === 'reference'
        ? [
            `warning: {file} has ${regions.length} ignored regions: what is tracked there is false here; the benchmark takes it out first: --preprocess ua-detrac`,
          ]
        : [];
    return { parts, problems: [], held: false, notes };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { parts: [], problems: [error.toProblem()], held: false };
  }
}

export const uaDetrac = defineAdapter({
  name: 'ua-detrac',
  title: 'UA-DETRAC annotations, XML',
  message: 'text',
  numbering: 'own',
  bases: { frame: 1, pixel: 1 },
  options: BOX_OPTIONS,
  shape: () => 'box',
  create: (values) => new DetracDecoder(values),
  readText,
});
