/**
 * The disk accepts no writes for now. What was acked is safe; what waits must be sent again later. An operating
 * fault, not a bug: it travels to whoever waits, and is over when the store takes writes again.
 */

export type StorageFaultCode = 'storage_full' | 'storage_failed' | 'storage_behind' | 'storage_closed';

export class StorageFault extends Error {
  override readonly name = 'StorageFault';

  constructor(
    readonly code: StorageFaultCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whatever the database has thrown, as a fault of the store in this folder. */
export function asStorageFault(error: unknown, dir: string): StorageFault {
  if (error instanceof StorageFault) return error;
  const cause = (error as Error).cause ?? error;
  const text = (cause as Error).message;
  if (/no space|ENOSPC|quota/i.test(text))
    return new StorageFault('storage_full', `the disk of ${dir} is full; free some space (${text})`, { cause });
  // it was opened, and stumbled later, while it put its files in order
  if (/corrupt/i.test(text)) return damaged(dir, text, cause);
  return new StorageFault('storage_failed', `${dir} cannot be written: ${text}`, { cause });
}

export const damaged = (dir: string, text: string | undefined, cause: unknown): StorageFault =>
  new StorageFault('storage_failed', `the store in ${dir} is damaged (${text}); run: tgospa repair --data ${dir}`, {
    cause,
  });
