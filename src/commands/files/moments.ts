/** Moments that the page saved, named on a command line. */
import { readMoment, type SavedMoment } from '../../wire/moment.js';
import { readText } from './recordings.js';

/** What a file is called that may be one. */
export const MOMENT_FILE = /\.json(\.gz)?$/;

export const readMomentFile = (file: string): SavedMoment => readMoment(readText(file), file);
