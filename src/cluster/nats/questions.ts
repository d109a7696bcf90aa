/**
 * Questions to another process, and its answers: structured data over core NATS, whatever its size, because a broker
 * refuses messages above its limit and a window of a crowd is larger. Nobody there to answer is known at once.
 */
import { deserialize, serialize } from 'node:v8';
import { createInbox, headers, type Msg, type Subscription } from '@nats-io/transport-node';
import type { NatsConnection } from './connection.js';

/** bytes of a part of an answer */
const PART_BYTES = 512 * 1024;
const STATE = 'Tgospa-Answer';

/** Nobody answers, or not in time. */
export class UnansweredError extends Error {}

/** Nobody listens there. Whoever did has closed its connection, or has ended: one that stands still listens on. */
export class AbsentError extends UnansweredError {}

/** Resolves with the answer; rejects with what the other process failed with, or an UnansweredError. */
export function ask<T>(connection: NatsConnection, subject: string, about: unknown, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    const inbox = createInbox();
    let subscription: Subscription | null = null;
    const end = (conclude: () => void) => {
      clearTimeout(timer);
      subscription?.unsubscribe();
      conclude();
    };
    const timer = setTimeout(
      () => end(() => reject(new UnansweredError(`nobody answered ${subject} within ${timeoutMs} ms`))),
      timeoutMs,
    );
    const hearPart = (error: Error | null, message: Msg) => {
      if (error) end(() => reject(error));
      else if (message.headers?.code === 503) end(() => reject(new AbsentError(`nobody answers ${subject}`)));
      else {
        parts.push(message.data);
        const state = message.headers?.get(STATE);
        if (state === 'part') return;
        const value = deserialize(Buffer.concat(parts));
        end(() => (state === 'failed' ? reject(new Error(String(value))) : resolve(value as T)));
      }
    };
    try {
      subscription = connection.subscribe(inbox, { callback: hearPart });
      connection.publish(subject, serialize(about), { reply: inbox });
    } catch (error) {
      // the connection is closed
      end(() => reject(error));
    }
  });
}

/** Answers what is asked under a subject until the function it returns is called. */
export function answer(
  connection: NatsConnection,
  subject: string,
  reply: (about: unknown) => unknown | Promise<unknown>,
): () => void {
  const subscription = connection.subscribe(subject, {
    callback: (error, message) => {
      if (!error) void respond(message, reply);
    },
  });
  return () => subscription.unsubscribe();
}

async function respond(message: Msg, reply: (about: unknown) => unknown): Promise<void> {
  try {
    const bytes = serialize(await reply(deserialize(message.data)));
    for (let at = 0; at < bytes.length; at += PART_BYTES)
      send(message, bytes.subarray(at, at + PART_BYTES), at + PART_BYTES < bytes.length ? 'part' : 'whole');
  } catch (error) {
    send(message, serialize(String((error as Error).message ?? error)), 'failed');
  }
}

function send(message: Msg, bytes: Uint8Array, state: string): void {
  const head = headers();
  head.set(STATE, state);
  try {
    message.respond(bytes, { headers: head });
  } catch {
    // the connection is closed: whoever asked hears that nobody answered
  }
}

/** Something that everybody who listens hears, and nobody waits for; false when it cannot be sent. */
export function tell(connection: NatsConnection, subject: string, what: unknown): boolean {
  try {
    connection.publish(subject, serialize(what));
    return true;
  } catch {
    // the connection is closed, or this is more than the broker accepts in one message
    return false;
  }
}

export function hear(connection: NatsConnection, subject: string, next: (what: unknown) => void): () => void {
  const subscription = connection.subscribe(subject, {
    callback: (error, message) => {
      if (!error) next(deserialize(message.data));
    },
  });
  return () => subscription.unsubscribe();
}
