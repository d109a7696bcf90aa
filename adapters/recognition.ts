/**
 * Which format a file is in, by what stands in it. Only the beginning is looked at. A format is named where the text
 * can hardly be anything else; what is in none of ours is said to be so, and nothing is guessed.
 */

/** A file, or a folder of one file per frame, as far as it is needed to be recognized. */
export interface Specimen {
  /** the beginning of the file, or of the first one of a folder */
  head: string;
  /** names within a folder; null for a file */
  entries: readonly string[] | null;
}

/** How much of a file is looked at, in characters. */
export const HEAD_CHARS = 16_384;

const DEEPSTREAM_ENTRY = /^\d{2}_\d{3}_\d{6}\.txt$/;
const LABEL_ENTRY = /^.*?_?\d+\.txt$/;
/** class, centre and size as shares of the picture [, confidence] [, id] */
const LABEL_ROW = /^\d+( (0(\.\d+)?|1(\.0*)?|\d(\.\d+)?e-\d+)){4}( \S+){0,2}\s*$/;

/** By an element that only documents of the format have. */
const XML: ReadonlyArray<[format: string, pattern: RegExp]> = [
  ['onvif-xml', /<(\w+:)?MetadataStream\b/],
  ['ua-detrac', /<sequence\b[\s\S]*<(sequence_attribute|ignored_region|target_list|frame)\b/],
  ['cvat', /<annotations\b/],
];

/** By keys that only messages of the format have, the most special first. */
const JSON_KEYS: ReadonlyArray<[format: string, pattern: RegExp]> = [
  ['coco-video', /"(images|videos|annotations)"\s*:\s*\[/],
  ['coco-video', /"image_id"\s*:[\s\S]*"bbox"|"bbox"\s*:[\s\S]*"image_id"\s*:/],
  ['onvif-json', /"@UtcTime"/],
  ['deepstream-full', /"mdsversion"/],
  ['deepstream-minimal', /"sensorId"[\s\S]*"objects"\s*:\s*\[\s*("|\])/],
  ['frigate', /"frame_time"[\s\S]*"(camera|false_positive)"|"camera"[\s\S]*"frame_time"|\\"frame_time\\"/],
  ['autoware', /"object_id"\s*:\s*\{\s*"uuid"/],
  ['ros-detection3d', /"detections"\s*:[\s\S]*"size"\s*:\s*\{\s*"x"/],
  ['ros-detection2d', /"detections"\s*:[\s\S]*"size_x"/],
  ['supervision-json', /"x_min"\s*:/],
  ['ultralytics', /"box"\s*:\s*\{\s*"x1"\s*:/],
  ['native', /"(k|t)"\s*:[\s\S]*"objects"\s*:\s*\[|"objects"\s*:\s*\[[\s\S]*"(k|t)"\s*:/],
];

/** The format of a specimen; null when it is none that is known, or could be several. */
export function recognize({ head, entries }: Specimen): string | null {
  if (entries) return ofFolder(entries, head);
  const text = head.replace(/^\ufeff/, '').trimStart();
  if (text.startsWith('<')) return XML.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
  if (text.startsWith('{') || text.startsWith('['))
    return JSON_KEYS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
  return ofRows(text, head.length >= HEAD_CHARS);
}

function ofFolder(entries: readonly string[], head: string): string | null {
  const rows = head.split('\n').filter((line) => line.trim() !== '');
  const labels = rows.length > 0 && LABEL_ROW.test(rows[0]) && entries.some((entry) => LABEL_ENTRY.test(entry));
  if (labels) return 'ultralytics-txt';
  return entries.some((entry) => DEEPSTREAM_ENTRY.test(entry)) ? 'deepstream-kitti' : null;
}

function ofRows(text: string, isCut: boolean): string | null {
  const lines = text.split('\n');
  if (isCut) lines.pop();
  const rows = lines.map((line) => line.trim()).filter((line) => line !== '' && !/^(#|%|\/\/)/.test(line));
  if (rows.length === 0) return null;
  if (/\bx_min\b.*\bx_max\b/.test(rows[0])) return 'supervision-csv';
  const words = rows[0].split(/[ \t]+/);
  if (words.length >= 17 && /^\d+$/.test(words[0]) && /^[A-Za-z]/.test(words[2])) return 'kitti';
  if (words.length >= 16 && /^[A-Za-z]/.test(words[0]) && /^\d+$/.test(words[1])) return 'deepstream-kitti';
  const numbers = rows
    .filter((row) => !/[A-Za-df-z]/.test(row))
    .map((row) => row.split(/[,;\s]+/).filter((one) => one !== ''));
  if (numbers.length === 0 || numbers.some((row) => row.length < 6)) return null;
  return isVisDrone(numbers) ? 'visdrone' : 'motchallenge';
}

/** Ten columns of whole numbers that end with category, truncation and occlusion. */
function isVisDrone(rows: readonly string[][]): boolean {
  const isWithin = (text: string, most: number) => /^\d+$/.test(text) && Number(text) <= most;
  const fits = (row: string[]) =>
    row.length === 10 && isWithin(row[6], 1) && isWithin(row[7], 11) && isWithin(row[8], 1) && isWithin(row[9], 2);
  return rows.every(fits) && new Set(rows.map((row) => row[7])).size + rows.filter((row) => row[7] !== '1').length > 1;
}
