/**
 * Who may connect: tokens with roles and stream patterns, the origins of web pages, and the names a loopback server
 * answers to. Decided once, when a request or an upgrade arrives. Secrets are held as digests and never compared
 * character by character.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import {
  type Config,
  isLoopback,
  matchesPattern,
  TOKEN_ROLES,
  type TokenRole,
  tokenSecrets,
} from '../../config/config.js';
import type { HttpCode } from '../../wire/codes.js';
import { BEARER_PREFIX } from '../../wire/messages.js';

/** What a request may do. */
export interface Identity {
  /** name of the token; `anyone` when none are configured */
  name: string;
  /** whether it is a token's, and not that of everybody who reaches the port */
  token: boolean;
  roles: ReadonlySet<TokenRole>;
  /** whether this stream may be seen or fed */
  covers(stream: string): boolean;
  /** whether every stream may be seen */
  coversAll: boolean;
}

/** Why a request is refused. */
export interface HttpRefusal {
  code: HttpCode;
  message: string;
}

export const refusal = (code: HttpCode, message: string): HttpRefusal => ({ code, message });

/** Why nothing can be read here: a process of a cluster need not serve those who read. */
export function readerRefusal({ cluster }: Config): HttpRefusal | null {
  if (!cluster || cluster.roles.includes('reader')) return null;
  return refusal('not_found', 'this process serves nobody who reads; its cluster.roles leave out reader');
}

const ANYONE: Identity = {
  name: 'anyone',
  token: false,
  roles: new Set(TOKEN_ROLES),
  covers: () => true,
  coversAll: true,
};

const digest = (secret: string) => createHash('sha256').update(secret).digest('base64');

/** Why a token may not read, or send, a stream. */
export const forbiddenStream = ({ name }: Identity, stream: string): string =>
  `token ${name} is not valid for stream ${stream}; extend its streams`;

export class Access {
  #identities = new Map<string, Identity>();
  #origins: Set<string>;
  /** names it answers to besides addresses and localhost; null: all */
  #names: ReadonlySet<string> | null;

  constructor(config: Config, env: NodeJS.ProcessEnv = process.env) {
    for (const token of tokenSecrets(config, env)) this.#identities.set(digest(token.secret), identityOf(token));
    this.#origins = new Set(config.origins);
    const { host, names } = config.listen;
    this.#names = names !== null || isLoopback(host) ? new Set(names?.map((name) => name.toLowerCase())) : null;
  }

  /** The identity of a request, or why it has none. `role` is what the address needs. */
  admit(request: IncomingMessage, role: TokenRole): Identity | HttpRefusal {
    return this.#originRefusal(request) ?? this.#identify(request, role);
  }

  #identify(request: IncomingMessage, role: TokenRole): Identity | HttpRefusal {
    if (this.#identities.size === 0) return ANYONE;
    const token = bearerOf(request);
    if (token === undefined)
      return {
        code: 'token_missing',
        message: 'send Authorization: Bearer <token>, or offer the subprotocol bearer.<token>',
      };
    const identity = this.#identities.get(digest(token));
    if (!identity)
      return { code: 'token_unknown', message: 'this token is not one of the configured ones; add it to tokens' };
    if (!identity.roles.has(role))
      return { code: 'role_forbidden', message: `token ${identity.name} lacks the role ${role}; add it to its roles` };
    return identity;
  }

  /** A page may only connect from this server or from an allowed origin; programs send no origin. */
  #originRefusal(request: IncomingMessage): HttpRefusal | undefined {
    const { host = '', origin } = request.headers;
    const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
    // a foreign name that resolves to this machine: a page elsewhere tries to read a server that trusts who reaches it
    if (name !== '' && name !== 'localhost' && !isIP(name) && this.#names?.has(name.toLowerCase()) === false)
      return {
        code: 'host_forbidden',
        message: `this server does not answer to ${name.slice(0, 80)}; use its address or localhost, or add the name to listen.names`,
      };
    if (origin === undefined || this.allowsOrigin(request)) return undefined;
    return { code: 'origin_forbidden', message: `pages of ${origin.slice(0, 80)} may not connect; add it to origins` };
  }

  /** Whether a page of the request's origin may see the answer. */
  allowsOrigin(request: IncomingMessage): boolean {
    const { host, origin } = request.headers;
    if (origin === undefined) return false;
    return this.#origins.has(origin) || origin === `http://${host}` || origin === `https://${host}`;
  }
}

function identityOf(token: { name: string; roles: TokenRole[]; streams: string[] }): Identity {
  return {
    name: token.name,
    token: true,
    roles: new Set(token.roles),
    covers: (stream) => token.streams.some((pattern) => matchesPattern(pattern, stream)),
    coversAll: token.streams.some((pattern) => /^\*+$/.test(pattern)),
  };
}

function bearerOf(request: IncomingMessage): string | undefined {
  const header = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '');
  if (header) return header[1];
  return offeredProtocols(request)
    .find((protocol) => protocol.startsWith(BEARER_PREFIX))
    ?.slice(BEARER_PREFIX.length);
}

/** Subprotocols a client offers, in its order. */
export function offeredProtocols(request: IncomingMessage): string[] {
  const header = request.headers['sec-websocket-protocol'] ?? '';
  return header
    .split(',')
    .map((protocol) => protocol.trim())
    .filter(Boolean);
}

/** Path and query of a request; what is no address at all has none. */
export function targetOf(request: IncomingMessage): { pathname: string; searchParams: URLSearchParams } {
  const url = request.url ?? '/';
  return URL.canParse(url, 'http://localhost')
    ? new URL(url, 'http://localhost')
    : { pathname: url, searchParams: new URLSearchParams() };
}
