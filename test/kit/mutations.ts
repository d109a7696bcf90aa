/** Right messages made wrong: what the fuzzers of the edge and of the adapters share. */
import fc from 'fast-check';

/** Values that nobody expects. */
export const strange = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, -1, 0, Number.MAX_VALUE, 1.5, '', '\u0000', [], {}, 2 ** 53, 'NaN', true, [[[[]]]], {
    __proto__: null,
  }),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

/** Every place in a value, as a list of keys. */
function placesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner, [...path, key]))];
}

function replaced(value: unknown, [key, ...rest]: string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

/** One of the right messages in which one value is replaced, or a key is added. */
export const mutated = (messages: readonly unknown[]): fc.Arbitrary<unknown> =>
  fc.tuple(fc.constantFrom(...messages), fc.nat(), strange, fc.boolean()).map(([message, at, by, add]) => {
    const places = placesOf(message);
    const place = places[at % places.length];
    return replaced(message, add ? [...place, 'surprise'] : place, by);
  });

/** One of the right texts in which characters are lost, doubled or exchanged. */
export const garbled = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...texts), fc.nat(), fc.nat({ max: 5 }), fc.string({ maxLength: 3 }))
    .map(([text, at, count, by]) => {
      const from = at % text.length;
      return text.slice(0, from) + by + text.slice(from + count);
    });
