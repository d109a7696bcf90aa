/** Who reaches the evaluator: address, TLS, origins, tokens. The file never holds a secret, only where it is. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { type Context, field, name, readable, section } from './fields.js';

export const listen = section(
  {
    host: field(
      z.string().min(1),
      '127.0.0.1',
      'address to listen on; anything but loopback requires tokens, or insecure',
    ),
    port: field(z.int().min(0).max(65535), 9477, 'port for WebSocket, HTTP, the page and /metrics; 0 picks a free one'),
    names: field(
      z.array(z.string().regex(/^[A-Za-z0-9.-]+$/, 'must be the name of a host, without a port')).nullable(),
      null,
      'host names the server answers to, besides addresses and localhost; this protects against DNS rebinding. null: any name, but none on loopback',
    ),
    insecure: field(
      z.boolean(),
      false,
      'true: listen beyond loopback without tokens; anyone who can reach the port may read and write',
    ),
  },
  'where the evaluator listens',
);

export const tls = (context: Context) =>
  z
    .strictObject({
      certFile: readable(context, 'PEM file with the certificate and its chain'),
      keyFile: readable(context, 'PEM file with the private key'),
    })
    .nullable()
    .meta({ description: 'serve https and wss instead of http and ws; null: plain' })
    .default(null);

/** Characters that may stand in an Authorization header and in a WebSocket subprotocol alike. */
export const TOKEN_ROLES = ['ingest', 'read', 'operate'] as const;
export type TokenRole = (typeof TOKEN_ROLES)[number];

const TOKEN_PATTERN = /^[A-Za-z0-9._~+-]{16,256}$/;

export const token = (context: Context) =>
  z
    .strictObject({
      name: name().meta({ description: 'name of the token in logs and metrics; not secret' }),
      env: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'environment variable that holds the token; give env or file' }),
      file: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'file that holds the token on its first line; give env or file' }),
      roles: field(
        z.array(z.enum(TOKEN_ROLES)).min(1),
        ['ingest', 'read'],
        'ingest: may send frames; read: may see reports, metrics and windows; operate: may acknowledge, close and mute incidents',
      ),
      streams: field(
        z.array(z.string().regex(/^[A-Za-z0-9._:/*-]+$/, 'must be a stream name; * matches any characters')).min(1),
        ['*'],
        'streams the token gives access to; * matches any characters',
      ),
    })
    .superRefine((entry, issue) => {
      const message = tokenProblem(entry, context);
      if (message) issue.addIssue({ code: 'custom', path: [entry.env === undefined ? 'file' : 'env'], message });
    });

function tokenProblem(entry: { env?: string; file?: string }, context: Context): string | undefined {
  if ((entry.env === undefined) === (entry.file === undefined)) return 'give exactly one of env and file';
  if (!context.readText) return undefined;
  let value: string;
  try {
    value = tokenValue(entry, context.env, context.readText);
  } catch (error) {
    return (error as Error).message;
  }
  // never quote the value: this message is logged
  return TOKEN_PATTERN.test(value)
    ? undefined
    : `holds ${value.length} characters that do not form a valid token; use 16 to 256 letters, digits or . _ ~ + -, for example from: openssl rand -hex 32`;
}

function tokenValue(
  entry: { env?: string; file?: string },
  env: NodeJS.ProcessEnv,
  readText: (path: string) => string,
): string {
  if (entry.file !== undefined) return readText(entry.file).split('\n', 1)[0].trim();
  const value = env[entry.env!];
  if (value === undefined)
    throw new Error(`environment variable ${entry.env} is not set; set it before the start, or name a file`);
  return value.trim();
}

export const origin = z
  .string()
  .regex(/^https?:\/\/[^/\s]+$/, 'must look like https://host or https://host:port, without a path');

type TokenEntry = z.output<ReturnType<typeof token>>;

/** Reads the secret of each token; only their holder compares them. */
export function tokenSecrets(
  config: { tokens: TokenEntry[] },
  env = process.env,
): Array<{ name: string; roles: TokenRole[]; streams: string[]; secret: string }> {
  return config.tokens.map((entry) => ({
    name: entry.name,
    roles: entry.roles,
    streams: entry.streams,
    secret: tokenValue(entry, env, (path) => readFileSync(path, 'utf8')),
  }));
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/**
 * Whether a pattern of stream names fits a text, where * stands for any characters. What stands between two stars is
 * found where it comes first, so that a long text from a query takes one pass, however many stars there are.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [head, ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  let at = head.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.startsWith(head) && text.endsWith(tail) && at <= text.length - tail.length;
}
