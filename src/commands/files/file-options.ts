/** The options on files that `eval` and `tune` share: their format, which rows count, what is taken out first. */
import type { Given, Option } from '../console/options.js';
import { type FileFormats, FORMAT_OPTIONS, readFormats } from './recordings.js';

/** Options of MOTChallenge files only. */
const BENCHMARK_OPTIONS = {
  classes: { value: 'LIST', help: 'classes of the reference that count, e.g. 1,7 (default 1, pedestrian)' },
  'all-rows': { help: 'count all reference rows, whatever their flag and class' },
  preprocess: {
    value: 'RULES',
    choices: ['motchallenge', 'mot20'],
    help: 'first take out tracks that match a distractor, as the benchmark does: motchallenge (MOT16, MOT17) or mot20',
  },
} as const satisfies Record<string, Option>;

export const FILE_OPTIONS = { ...FORMAT_OPTIONS, ...BENCHMARK_OPTIONS };

const SHAPES = { box: 'boxes', point: 'points' };

/** --classes and --all-rows are options of the reference's format, --preprocess compares two MOTChallenge files. */
export function readFileFormats(given: Given): FileFormats | null {
  const options: Record<string, unknown> = {};
  if (given.has('classes')) options.classes = readClasses(given);
  if (given.has('all-rows')) options.allRows = true;
  const said = {
    format: given.text('format'),
    options: given.texts('option'),
    referenceFormat: given.text('reference-format'),
    referenceOptions: given.texts('reference-option'),
  };
  const formats = readFormats(said, (message) => given.wrong(message), options);
  if (!formats) return null;
  const { reference, tracker } = formats;
  for (const name of Object.keys(BENCHMARK_OPTIONS))
    if (given.has(name) && reference.adapter.name !== 'motchallenge')
      given.wrong(
        `--${name} needs a reference in format motchallenge; see --formats for what ${reference.adapter.name} has`,
      );
  if (given.has('preprocess') && !isPlainMot(formats))
    given.wrong('--preprocess needs MOTChallenge files without further options');
  if (reference.shape !== tracker.shape)
    given.wrong(
      `the reference holds ${SHAPES[reference.shape]} and the trackers ${SHAPES[tracker.shape]}; both need the same`,
    );
  return formats;
}

/** Whether both are MOTChallenge files, read as they are. */
export const isPlainMot = (formats: FileFormats): boolean =>
  Object.values(formats).every(({ adapter, given }: FileFormats['tracker']) => {
    const further = [...given].filter((key) => key !== 'classes' && key !== 'allRows');
    return adapter.name === 'motchallenge' && further.length === 0;
  });

/** The numbers after --classes; undefined, and a mistake, when they are none. */
export function readClasses(given: Given): number[] | undefined {
  const text = given.text('classes') ?? '';
  const classes = text.split(',').map(Number);
  const sound = classes.every((value) => Number.isInteger(value) && value > 0);
  if (!sound) given.wrong(`--classes must be whole numbers separated by commas, got "${text}"`);
  return sound ? classes : undefined;
}
