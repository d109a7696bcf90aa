/**
 * Partitions: the unit of order, durability and ownership. A stream belongs to one of 64 by a hash of its name that
 * never changes, and stays there; threads and machines own partitions. Within a process the partitions are dealt out to
 * slots (one for each worker), and those of a slot share one log, so that they share its flushes.
 */
import { crc32 } from 'node:zlib';

export const PARTITIONS = 64;

export const partitionOf = (stream: string): number => crc32(stream) % PARTITIONS;

/** The slot, of so many, that a stream belongs to. */
export const slotOf = (stream: string, slots: number): number => partitionOf(stream) % slots;
