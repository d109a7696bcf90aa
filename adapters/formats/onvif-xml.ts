/** ONVIF metadata as XML: a tt:MetadataStream document with tt:VideoAnalytics/tt:Frame elements. */

import { defineAdapter, Mistake } from '../kit/adapter.js';
import { XmlReader } from '../kit/xml.js';
import {
  IDENTITY,
  ONVIF_OPTIONS,
  OnvifDecoder,
  type OnvifFrame,
  type OnvifObject,
  type Transformation,
} from './onvif.js';

function framesIn(message: unknown): OnvifFrame[] {
  if (typeof message !== 'string') throw new Mistake('', message, 'must be text: a tt:MetadataStream document');
  const frames: OnvifFrame[] = [];
  for (const document of documentsIn(message)) {
    const reader = new XmlReader(document);
    reader.openRoot('MetadataStream', 'of ONVIF');
    for (let event = reader.next(); event !== 'end'; event = reader.next())
      if (event === 'open' && reader.name === 'Frame') frames.push(readFrame(reader));
  }
  return frames;
}

const DOCUMENT_END = /<\/(?:[\w-]+:)?MetadataStream\s*>/g;

/** Documents one after the other, as a recorded stream has them, each at its own lines. */
function documentsIn(text: string): string[] {
  const documents: string[] = [];
  let start = 0;
  let lines = 0;
  for (const { index, 0: end } of text.matchAll(DOCUMENT_END)) {
    const document = text.slice(start, index + end.length);
    const head = document.length - document.trimStart().length;
    const above = lines + document.slice(0, head).split('\n').length - 1;
    documents.push(documents.length === 0 ? document : '\n'.repeat(above) + document.slice(head));
    lines += document.split('\n').length - 1;
    start = index + end.length;
  }
  const rest = text.slice(start);
  return documents.length === 0 || rest.trim() !== '' ? [...documents, rest] : documents;
}

/** Reads up to the end of the element at hand; `open` gets every tag within. */
function within(reader: XmlReader, open: (name: string) => void, close: (name: string) => void = () => {}): void {
  const { depth } = reader;
  for (;;) {
    const event = reader.next();
    if (event === 'open') open(reader.name);
    else {
      if (reader.depth < depth) return;
      close(reader.name);
    }
  }
}

function readFrame(reader: XmlReader): OnvifFrame {
  const frame: OnvifFrame = {
    utcTime: reader.attribute('UtcTime'),
    source: reader.attribute('Source'),
    transformation: IDENTITY,
    objects: [],
    renames: [],
    deleted: [],
  };
  if (frame.utcTime === undefined) throw reader.attributeMistake('UtcTime', 'must be there');
  within(reader, (name) => {
    if (name === 'Transformation') frame.transformation = readTransformation(reader);
    else if (name === 'Object') frame.objects.push(readObject(reader));
    else if (name === 'ObjectTree') readTree(reader, frame);
  });
  return frame;
}

function readTransformation(reader: XmlReader): Transformation {
  const transformation = { ...IDENTITY };
  within(reader, (name) => {
    if (name === 'Translate') {
      transformation.translateX = reader.number('x');
      transformation.translateY = reader.number('y');
    } else if (name === 'Scale') {
      transformation.scaleX = reader.number('x');
      transformation.scaleY = reader.number('y');
    }
  });
  return transformation;
}

function idOf(reader: XmlReader): string {
  const id = reader.attribute('ObjectId') || reader.attribute('UUID');
  if (!id) throw reader.attributeMistake('ObjectId', 'must be there, or UUID');
  return id;
}

function readObject(reader: XmlReader): OnvifObject {
  const object: OnvifObject = {
    id: idOf(reader),
    isChild: reader.has('Parent'),
    corners: null,
    transformation: null,
    isRemoved: false,
  };
  let likelihood: number | undefined;
  let candidate: string | undefined;
  const consider = (kind: string | undefined) => {
    if (!kind || (likelihood ?? 0) <= (object.likelihood ?? -1)) return;
    object.kind = kind;
    if (likelihood !== undefined) object.likelihood = likelihood;
  };
  let inCandidate = false;
  let isInClass = false;
  within(
    reader,
    (name) => {
      if (name === 'Transformation') object.transformation = readTransformation(reader);
      else if (name === 'BoundingBox')
        object.corners = [reader.number('left'), reader.number('top'), reader.number('right'), reader.number('bottom')];
      else if (name === 'Removed') object.isRemoved = true;
      else if (name === 'Class') isInClass = true;
      else if (name === 'ClassCandidate') {
        inCandidate = true;
        likelihood = candidate = undefined;
      } else if (name === 'Type' && !inCandidate)
        likelihood = reader.has('Likelihood') ? reader.number('Likelihood') : undefined;
    },
    (name) => {
      if (name === 'Class') isInClass = false;
      else if (name === 'Type' && isInClass) {
        if (inCandidate) candidate = reader.content();
        else consider(reader.content());
      } else if (name === 'Likelihood' && inCandidate) {
        likelihood = Number(reader.content());
        if (!Number.isFinite(likelihood)) throw reader.tagMistake('Likelihood must be a finite number');
      } else if (name === 'ClassCandidate') {
        inCandidate = false;
        consider(candidate);
      }
    },
  );
  return object;
}

function readTree(reader: XmlReader, frame: OnvifFrame): void {
  let from: string | undefined;
  let to: string | undefined;
  within(
    reader,
    (name) => {
      if (name === 'Rename' || name === 'Merge' || name === 'Split') from = to = undefined;
      else if (name === 'from') from ??= idOf(reader);
      else if (name === 'to') to ??= idOf(reader);
      else if (name === 'Delete') frame.deleted.push(idOf(reader));
    },
    (name) => {
      if ((name === 'Rename' || name === 'Merge') && from !== undefined && to !== undefined)
        frame.renames.push({ from, to });
    },
  );
}

export const onvifXml = defineAdapter({
  name: 'onvif-xml',
  title: 'ONVIF analytics metadata as XML',
  message: 'text',
  numbering: 'own',
  bases: { frame: null, pixel: 0 },
  options: ONVIF_OPTIONS,
  shape: () => 'box',
  create: (values) => new OnvifDecoder(values, framesIn, (n) => `frame ${n + 1}: `),
});
