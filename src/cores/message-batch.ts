/**
 * Messages of many connections in one block of memory, which is handed over to a worker without a copy: number of the
 * connection, length, bytes, one after the other. Sending each by itself would take longer than checking it.
 */

/** of connection and length */
const HEAD_BYTES = 8;
const FIRST_BYTES = 4096;

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
    const taken = new Uint8Array(this.#block.buffer as ArrayBuffer, 0, this.#length);
    // the next one is about as long, and should not have to grow for a little more
    this.#block = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, Math.ceil(1.5 * this.#length)));
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
