/** The sections as one schema, for checking and for editors. */
import { z } from 'zod';
import { isLoopback, listen, origin, tls, token } from './access.js';
import { cluster } from './cluster.js';
import { data, evaluation, logging } from './evaluator.js';
import { type Context, field, name, optional } from './fields.js';
import { formats } from './formats.js';
import { limits } from './limits.js';
import { notify } from './notify.js';
import { profileEntry, settingsShape } from './settings.js';
import { sources } from './sources.js';

export const rootSchema = (context: Context) =>
  z
    .strictObject({
      listen,
      tls: tls(context),
      origins: field(z.array(origin), [], 'origins whose web pages may connect, besides this server itself'),
      pictureOrigins: field(
        z.array(origin),
        [],
        'origins whose pictures the page may show behind a scene, besides this server itself',
      ),
      tokens: field(
        z.array(token(context)),
        [],
        'who may connect; empty: anyone who can reach the port. Without this key, the variable TGOSPA_TOKEN is used if it is set',
      ),
      data,
      cluster: cluster(context),
      evaluation,
      profiles: field(
        z.record(name(), profileEntry),
        {},
        'metric parameters by name; the presets detector-training, online-surveillance and offline-scene-understanding are built in',
      ),
      streams: z
        .object({
          defaults: z
            .strictObject(settingsShape(field, context))
            .meta({ description: 'for every stream without settings of its own' })
            .prefault({}),
        })
        .catchall(
          z
            .strictObject(settingsShape(optional, context))
            .meta({ description: 'a stream by its name; keys left out are those of defaults' }),
        )
        .meta({ description: 'settings of streams, by name' })
        .prefault({}),
      formats,
      sources: sources(context),
      notify: notify(context),
      limits,
      logging,
    })
    .refine((config) => isLoopback(config.listen.host) || config.listen.insecure || config.tokens.length > 0, {
      path: ['listen', 'host'],
      message:
        'is reachable by others, but no tokens are configured; add tokens, or listen.insecure: true if anyone may read and write',
      when: (payload) => typeof (payload.value as { listen?: { host?: unknown } }).listen?.host === 'string',
    });

export type Config = z.output<ReturnType<typeof rootSchema>>;
export type StreamSettings = Config['streams']['defaults'];
export type PairingSettings = StreamSettings['pairing'];
export type FilterSettings = StreamSettings['filter'];
export type ReportSettings = StreamSettings['reports'];
export type CoverageSettings = StreamSettings['coverage'];
/** Settings as a stream's own entry or a hello may give them: everything may be left out. */
export type SettingsPatch = Partial<
  Omit<StreamSettings, 'pairing' | 'filter' | 'reports' | 'coverage' | 'classes' | 'spikes' | 'scores' | 'performance'>
> & {
  pairing?: Partial<PairingSettings>;
  reports?: Partial<ReportSettings>;
  coverage?: Partial<CoverageSettings>;
  classes?: Partial<StreamSettings['classes']>;
  filter?: Partial<FilterSettings>;
  spikes?: Partial<StreamSettings['spikes']>;
  scores?: Partial<StreamSettings['scores']>;
  performance?: Partial<StreamSettings['performance']>;
};

export type JsonSchema = {
  description?: string;
  default?: unknown;
  unit?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
};

let cachedSchema: JsonSchema | undefined;

/** The schema for editors (JSON Schema 2020-12); committed beside this file. */
export function jsonSchema(): JsonSchema {
  cachedSchema ??= {
    ...(z.toJSONSchema(rootSchema({ profileNames: [], env: {} }), {
      io: 'input',
      unrepresentable: 'any',
    }) as JsonSchema),
    title: 'tgospa.yaml',
  } as JsonSchema;
  return cachedSchema;
}

export function schemaAt(path: PropertyKey[]): JsonSchema | undefined {
  let at: JsonSchema | undefined = jsonSchema();
  for (const key of path) {
    const inner: JsonSchema | undefined =
      at?.properties || at?.items || at?.additionalProperties ? at : at?.anyOf?.find((option) => option.properties);
    const extra: JsonSchema | undefined =
      typeof inner?.additionalProperties === 'object' ? inner.additionalProperties : undefined;
    at = typeof key === 'number' ? inner?.items : (inner?.properties?.[String(key)] ?? extra);
  }
  return at;
}
