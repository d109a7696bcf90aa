/** The evaluator cannot start for a reason that its operator can remove: told in one sentence, without a stack. */
import { lstatSync } from 'node:fs';
import type { Config } from '../config/config.js';

export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The sentence for an operating fault at start; the error itself when it is a mistake of ours. */
export function asStartError(error: unknown, { listen, data }: Pick<Config, 'listen' | 'data'>): unknown {
  const { name, code, syscall, message, cause } = error as NodeJS.ErrnoException & { cause?: unknown };
  if (syscall === 'listen') return new StartError(listenSentence(code, listen), { cause });
  if (name === 'ClusterError') return new StartError(message, { cause });
  if (name !== 'StorageFault') return error;
  const file = fileInTheWay(data.dir);
  if (file !== null) return new StartError(`data.dir is ${data.dir}, but ${file} is a file; name a folder`, { cause });
  const remedy = / cannot be written: /.test(message) ? '; choose a folder that this user may write with --data' : '';
  return new StartError(message.replace('another data.dir', 'another folder with --data') + remedy, { cause });
}

function listenSentence(code: string | undefined, { host, port }: Config['listen']): string {
  const place = `${host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use by another program; stop it, or choose another port with --port`;
    case 'EACCES':
      return `${place} cannot be opened by this user; choose a port of 1024 or above with --port`;
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${host}; choose one of its own with --host, or 0.0.0.0 for all`;
    case 'ENOTFOUND':
      return `the host ${host} cannot be resolved; give an address with --host`;
    default:
      return `${place} cannot be opened (${code})`;
  }
}

/** The part of the path that is a file although a folder is needed there. */
function fileInTheWay(dir: string): string | null {
  const parts = dir.split('/');
  for (let n = 1; n <= parts.length; n++) {
    const path = parts.slice(0, n).join('/') || '/';
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) return path;
  }
  return null;
}
