/** The two ends of a connection, whatever carries it: a WebSocket (sockets.ts), or a source of this same process. */
import type { CloseCode } from '../../wire/codes.js';

/** how long a peer that reads too slowly may take to say goodbye */
export const SLOW_PATIENCE_MS = 1000;

/** The other end. */
export interface Peer {
  /** `sent` is called when the text has left the process */
  send(text: string | Buffer, sent?: () => void): void;
  /** a peer that has not answered within `patienceMs`, or some seconds unless given, is cut off */
  close(code: CloseCode, reason: string, patienceMs?: number): void;
  /** stop and resume reading from it */
  pause(): void;
  resume(): void;
  /** bytes handed to the socket and not yet sent */
  backlogBytes(): number;
  readonly address: string;
}

/** This end: what is done with what the peer sends. */
export interface Conversation {
  /** a text message as it came, at this time by the clock of the evaluator, or just now */
  receive(bytes: Buffer, receivedMs?: number): void;
  receiveBinary(byteCount: number): void;
  /** the connection is gone */
  closed(): void;
  /** whether the connection is not read from at the moment; its peer cannot be heard then */
  readonly paused: boolean;
}
