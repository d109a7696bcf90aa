/**
 * A peer's mistake as a value: what came, where, what was expected, and the remedy. It is never thrown; it travels to
 * the sender as a message of type reject.
 */
import type { RejectCode } from './codes.js';

export interface RejectMessage {
  type: 'reject';
  seq?: number;
  code: RejectCode;
  path: string;
  message: string;
  value?: string;
}

/** A peer's mistake: what came, where, and the remedy. */
export class Fault {
  constructor(
    readonly code: RejectCode,
    /** place within the message: `objects[3].box[2]`, `frames[1].seq`; empty for the message as a whole */
    readonly path: string,
    readonly message: string,
    /** the offending value, shortened; absent when nothing came */
    readonly value?: string,
    readonly seq?: number,
  ) {}

  /** The same fault seen from an enclosing message. */
  within(prefix: string): Fault {
    return new Fault(this.code, this.path ? `${prefix}.${this.path}` : prefix, this.message, this.value, this.seq);
  }

  toMessage(): RejectMessage {
    const { seq, code, path, message, value } = this;
    return {
      type: 'reject',
      ...(seq === undefined ? {} : { seq }),
      code,
      path,
      message,
      ...(value === undefined ? {} : { value }),
    };
  }
}

/** Shows any value in about 60 characters, without walking into it. */
export function show(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (Array.isArray(value))
    return value.length <= 4 && value.every((v) => typeof v === 'number')
      ? `[${value.join(',')}]`
      : `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** A fault whose sentence begins with the place and what stands there. */
export const fault = (code: RejectCode, path: string, value: unknown, remedy: string): Fault => {
  const shown = show(value);
  return new Fault(
    code,
    path,
    `${path || 'the message'} ${shown === undefined ? 'is missing' : `is ${shown}`}; ${remedy}`,
    shown,
  );
};
