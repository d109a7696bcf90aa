/**
 * The log: one JSON object per line, `{"time","level","event",...}`, to standard error unless told otherwise.
 * Invariant: no secret that was registered with the logger ever leaves it, wherever in a line it may stand.
 */

export type Level = 'debug' | 'info' | 'warn' | 'error';

const LEVELS: readonly (Level | 'silent')[] = ['debug', 'info', 'warn', 'error', 'silent'];

export interface Logger {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

export interface LoggerOptions {
  /** least level that is written */
  level?: Level | 'silent';
  /** strings that are replaced by `[secret]` */
  secrets?: string[];
  write?: (line: string) => void;
  now?: () => Date;
}

/** Makes a logger; fields that are errors are shown as message and stack. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const {
    level = 'info',
    secrets = [],
    write = (line) => process.stderr.write(line),
    now = () => new Date(),
  } = options;
  const least = LEVELS.indexOf(level);
  const log =
    (of: Level) =>
    (event: string, fields: Record<string, unknown> = {}) => {
      if (LEVELS.indexOf(of) < least) return;
      const line = JSON.stringify({ time: now().toISOString(), level: of, event, ...fields }, showError);
      write(`${withoutSecrets(line, secrets)}\n`);
    };
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
}

const showError = (_key: string, value: unknown): unknown => {
  if (value instanceof Error) return { message: value.message, stack: value.stack };
  return typeof value === 'bigint' ? String(value) : value;
};

function withoutSecrets(line: string, secrets: string[]): string {
  for (const secret of secrets) if (line.includes(secret)) line = line.replaceAll(secret, '[secret]');
  return line;
}
