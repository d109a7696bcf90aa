/** Snapshots of streams as the brokers hold them. */
import assert from 'node:assert/strict';
import { deflateRawSync } from 'node:zlib';
import { decodeSnapshot } from '../../src/cluster/snapshot-cells.js';

describe('a snapshot on a broker', () => {
  it('is read as versions before wrote it, deflated', () => {
    const head = { stream: 'gate', position: 65_537, retired: false };
    const text = Buffer.from(JSON.stringify(head));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    const packed = Buffer.from('the state of a stream');
    const read = decodeSnapshot(Buffer.concat([length, text, deflateRawSync(packed)]));
    assert.deepEqual({ ...read, packed: Buffer.from(read.packed) }, { ...head, packed });
  });
});
