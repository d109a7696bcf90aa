import { strict as assert } from 'node:assert';
import { MessageBatch, messagesIn } from '../../src/cores/message-batch.js';
import { randomFrom } from '../kit/random.js';

const textsOf = (batch: Uint8Array) => [...messagesIn(batch)].map(({ connection, bytes }) => `${connection} ${bytes}`);

describe('message batch', () => {
  it('holds messages of many connections in order, however long they are', () => {
    const random = randomFrom(3);
    const batch = new MessageBatch();
    for (let round = 0; round < 5; round++) {
      const messages = Array.from({ length: 40 }, (_, n) => ({
        connection: Math.floor(random() * 2 ** 32),
        text: 'ä'.repeat(Math.floor(random() ** 4 * 9000)) + n,
      }));
      for (const { connection, text } of messages) batch.add(connection, Buffer.from(text));
      const taken = structuredClone(batch.drain());
      assert.deepEqual(
        textsOf(taken),
        messages.map(({ connection, text }) => `${connection} ${text}`),
      );
      assert.equal(batch.byteCount, 0);
    }
  });

  it('is empty until something comes', () => assert.deepEqual(textsOf(new MessageBatch().drain()), []));
});
