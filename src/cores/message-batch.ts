/**
 * Messages of many connections in one block of memory, which is handed over to a worker without a copy: number of the
 * connection, length, bytes, one after the other. Sending each by itself would take longer than checking it.
 */

/** of connection and length */
const HEAD_BYTES = 8;
const FIRST_BYTES = 4096;
/** room that is kept for the next batch, at most */
const ROOM_BYTES = 1024 * 1024;

export class MessageBatch {
  #block = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;

  get byteCount(): number {
    return this.#length;
  }

  add(connection: number, bytes: Uint8Array): void {
    const end = this.#length + HEAD_BYTES + bytes.length;
    if (end > this.#block.length) this.#grow(end);
    this.#block.writeUInt32LE(connection, this.#length);
    this.#block.writeUInt32LE(bytes.length, this.#length + 4);
    this.#block.set(bytes, this.#length + HEAD_BYTES);
    this.#length = end;
  }

  #grow(byteCount: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(byteCount, 2 * this.#block.length));
    larger.set(this.#block.subarray(0, this.#length));
    this.#block = larger;
  }

  /** Everything so far, to be handed over; the batch is empty from now on. */
  drain(): Uint8Array<ArrayBuffer> {
    // a copy of its very length: blocks with room to spare, new ones each time, would have the heap collected for them
    const taken = Buffer.allocUnsafeSlow(this.#length);
    taken.set(this.#block.subarray(0, this.#length));
    if (this.#block.length > ROOM_BYTES) this.#block = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#length = 0;
    return taken;
  }
}

/** The messages of a batch, in order. */
export function* messagesIn(batch: Uint8Array): Generator<{ connection: number; bytes: Buffer }> {
  const block = Buffer.from(batch.buffer, batch.byteOffset, batch.byteLength);
  for (let at = 0; at < block.length; ) {
    const end = at + HEAD_BYTES + block.readUInt32LE(at + 4);
    yield { connection: block.readUInt32LE(at), bytes: block.subarray(at + HEAD_BYTES, end) };
    at = end;
  }
}
