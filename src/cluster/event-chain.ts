/**
 * The chain of events of a partition. Every link says up to which position of the log its events reach, and follows the
 * one before it by compare-and-set. Who takes a partition over first adds an empty link of a new epoch, the claim: from
 * then on the owner before it can publish nothing, whatever it believes about its lease.
 * Invariant: `upTo` never falls; events up to it have been published once, all others not.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Cell } from './nats/cell.js';

export interface Link {
  /** counts the owners of the partition */
  epoch: number;
  owner: string;
  /** events of records up to this position are out, with those of this link */
  upTo: number;
  events: unknown[];
  /** version of the configuration that the streams of the partition are judged by */
  config?: number;
}

/** A link that is longer is deflated: after a takeover one may hold the events of seconds. */
const PLAIN_BYTES = 16_384;
const BRACE = 0x7b;

function encode(link: Link): Uint8Array {
  const plain = Buffer.from(JSON.stringify(link));
  return plain.length <= PLAIN_BYTES ? plain : Buffer.concat([Buffer.of(0), deflateRawSync(plain, { level: 1 })]);
}

export function decodeLink(bytes: Uint8Array): Link {
  const plain = bytes[0] === BRACE ? Buffer.from(bytes) : inflateRawSync(bytes.subarray(1));
  return JSON.parse(plain.toString());
}

const NO_LINK: Link = { epoch: 0, owner: '', upTo: 0, events: [] };

export class EventChain {
  private constructor(
    readonly cell: Cell,
    readonly owner: string,
    readonly epoch: number,
    private revision: number,
    private published: number,
    private config: number,
  ) {}

  /** Claims the chain for an owner; of several who try at once each is fenced by the next. */
  static async claim(cell: Cell, owner: string, signal?: AbortSignal): Promise<EventChain> {
    const { revision, bytes } = await cell.read(signal);
    const last = revision === 0 ? NO_LINK : decodeLink(bytes);
    const { upTo, config = 0 } = last;
    const claim = { epoch: last.epoch + 1, owner, upTo, events: [], config };
    return new EventChain(cell, owner, claim.epoch, await cell.write(revision, encode(claim), signal), upTo, config);
  }

  /** Events of records up to this position are out: the owner publishes those beyond it. */
  get upTo(): number {
    return this.published;
  }

  /** Version of the configuration that the streams are judged by; a newer one is told with the next link. */
  get configVersion(): number {
    return this.config;
  }

  configured(version: number): void {
    this.config = Math.max(this.config, version);
  }

  /** Adds a link, one at a time; throws a FencedError when another owner has claimed the chain. */
  async publish(upTo: number, events: unknown[], signal?: AbortSignal): Promise<void> {
    if (upTo < this.published) throw new Error(`events up to ${this.published} are out; ${upTo} would go back`);
    const link = { epoch: this.epoch, owner: this.owner, upTo, events, config: this.config };
    this.revision = await this.cell.write(this.revision, encode(link), signal);
    this.published = upTo;
  }
}
