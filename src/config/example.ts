/** tgospa.example.yaml: every key at its default. */
import { type JsonSchema, jsonSchema } from './schema.js';

/** A file with every key at its default, each with its meaning and unit; entries that have no default are comments. */
export function exampleYaml(): string {
  const head = [
    '# yaml-language-server: $schema=./tgospa.schema.json',
    '# Every key of tgospa.yaml with its default. Keep what you change and delete the rest: these defaults apply without any file.',
  ];
  return `${[...head, ...exampleSection(jsonSchema(), '')].join('\n')}\n`;
}

function exampleSection(schema: JsonSchema, indent: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => exampleKey(key, inner, indent));
}

function exampleKey(key: string, schema: JsonSchema, indent: string): string[] {
  const unit = schema.unit ? ` [${schema.unit}]` : '';
  const lines = [`${indent}# ${schema.description}${unit}`];
  if (indent === '') lines.unshift('');
  if (schema.properties) {
    lines.push(`${indent}${key}:`, ...exampleSection(schema, `${indent}  `));
    // the settings of one stream have the same keys as the defaults
    return key === 'streams' ? [...lines, `${indent}  # gate-7: { windowFrames: 120, pairing: { by: time } }`] : lines;
  }
  const value = schema.default === undefined ? '' : ` ${JSON.stringify(schema.default)}`;
  lines.push(`${indent}${schema.default === undefined ? '# ' : ''}${key}:${value}`);
  const entry = schema.items?.properties
    ? ['- ', schema.items]
    : schema.anyOf?.find((option) => option.properties)
      ? ['', schema.anyOf[0]]
      : typeof schema.additionalProperties === 'object'
        ? ['name:', schema.additionalProperties]
        : null;
  if (!entry) return lines;
  const [mark, item] = entry as [string, JsonSchema];
  return [...lines, ...exampleEntry(mark, item).map((line) => `${indent}# ${line}`)];
}

/** One entry of a list or a mapping by name, to be shown as a comment. */
function exampleEntry(mark: string, schema: JsonSchema): string[] {
  const keys = Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const about = `# ${inner.description}${inner.unit ? ` [${inner.unit}]` : ''}`;
    if (inner.items?.properties) return [`${key}:   ${about}`, ...exampleEntry('- ', inner.items)];
    if (inner.properties) return [`${key}:   ${about}`, ...exampleEntry('', inner)];
    const value = inner.default === undefined ? '...' : JSON.stringify(inner.default);
    return [`${key}: ${value}   ${about}`];
  });
  if (mark === 'name:') return ['  name:', ...keys.map((line) => `    ${line}`)];
  return keys.map((line, n) => `  ${mark && (n === 0 ? mark : '  ')}${line}`);
}
