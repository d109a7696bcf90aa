/**
 * A thread that writes a batch into a store and is ended in the middle of handing it over, as `terminate()` or too
 * little memory may do at any moment: `workerData` has the folder, how many keys there are, and before which it ends.
 * It does so inside the library that owns the store, whichever way the batch is handed over.
 */
import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';
import { type Operation, openDatabase } from '../../src/store/database.js';

/** the native functions of classic-level that take batches */
interface Binding {
  batch_do(context: unknown, operations: object[], options: object): Promise<void>;
  batch_put(batch: unknown, key: unknown, value: unknown): void;
}

const { dir, keys, endsAt } = workerData as { dir: string; keys: number; endsAt: number };
const binding = createRequire(import.meta.url)('classic-level/binding.js') as Binding;
const { batch_do, batch_put } = binding;

const end = () => process.exit(0);

function endInList(): void {
  binding.batch_do = (context, operations, options) => {
    Object.defineProperty(operations[endsAt], 'type', { get: end });
    return batch_do(context, operations, options);
  };
}

function endInChain(): void {
  let puts = 0;
  binding.batch_put = (batch, key, value) => {
    if (puts++ === endsAt) end();
    batch_put(batch, key, value);
  };
}

const write = async (number: string) => {
  const value = Buffer.from(number);
  const operations = Array.from({ length: keys }, (_, n): Operation => ({ type: 'put', key: `e${n}`, value }));
  await db.batch(operations, { sync: true });
};

const db = await openDatabase(dir);
await write('before');
endInList();
endInChain();
await write('after');
