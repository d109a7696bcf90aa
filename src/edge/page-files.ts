/**
 * The live page as files: `npm run build` puts them, each also compressed, into dist/page; they are read once, at
 * start. Names of scripts and styles carry a hash of their content, so browsers may keep them for ever; the document
 * itself is asked for again each time and answered with 304 while it is the same. Without a build there is a plain list
 * of addresses.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';

/** Everything comes from this server; nothing is inline, nothing may frame the page from elsewhere. */
const policyOf = (pictureOrigins: readonly string[]) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data:", ...pictureOrigins].join(' '),
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface PageFile {
  type: string;
  etag: string;
  cache: string;
  bodies: { plain: Buffer; br?: Buffer; gzip?: Buffer };
}

export class PageFiles {
  /** by path, such as `/` */
  #files = new Map<string, PageFile>();

  readonly #policy: string;

  constructor(folder: URL, pictureOrigins: readonly string[] = []) {
    this.#policy = policyOf(pictureOrigins);
    const names = existsSync(folder) ? readdirSync(folder) : [];
    const read = (name: string) => (names.includes(name) ? readFileSync(new URL(name, folder)) : undefined);
    for (const name of names.filter((one) => extname(one) in TYPES)) {
      const bodies = { plain: read(name)!, br: read(`${name}.br`), gzip: read(`${name}.gz`) };
      this.#files.set(name === 'index.html' ? '/' : `/${name}`, pageFile(name, bodies));
    }
    if (!this.#files.has('/')) this.#files.set('/', pageFile('index.html', { plain: Buffer.from(LIST) }));
  }

  /** Answers a request for one of the files; false when it is for something else. */
  serve(request: IncomingMessage, response: ServerResponse, path: string): boolean {
    const file = this.#files.get(path);
    if (!file || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
    response.setHeader('Cache-Control', file.cache);
    response.setHeader('ETag', file.etag);
    response.setHeader('Vary', 'Accept-Encoding');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Content-Security-Policy', this.#policy);
    if (request.headers['if-none-match'] === file.etag) {
      response.writeHead(304).end();
      return true;
    }
    const encoding = encodingFor(String(request.headers['accept-encoding'] ?? ''), file);
    const body = file.bodies[encoding]!;
    response.setHeader('Content-Type', file.type);
    response.setHeader('Content-Length', body.length);
    if (encoding !== 'plain') response.setHeader('Content-Encoding', encoding);
    response.writeHead(200);
    response.end(request.method === 'HEAD' ? undefined : body);
    return true;
  }
}

function pageFile(name: string, bodies: PageFile['bodies']): PageFile {
  const etag = `"${createHash('sha256').update(bodies.plain).digest('base64url').slice(0, 22)}"`;
  const cache = /-[A-Z0-9]{8}\.\w+$/.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache';
  return { type: TYPES[extname(name)], etag, cache, bodies };
}

function encodingFor(accepted: string, { bodies }: PageFile): keyof PageFile['bodies'] {
  const accepts = (name: string) => new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(\\.0*)?\\b)`).test(accepted);
  return bodies.br && accepts('br') ? 'br' : bodies.gzip && accepts('gzip') ? 'gzip' : 'plain';
}

const LIST = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>TGOSPA Live</title></head>
<body><h1>TGOSPA Live</h1>
<p>The live page is not built here; <code>npm run build</code> builds it. Everything else is at:</p>
<ul>
<li><a href="/metrics">/metrics</a> for Prometheus</li>
<li><a href="/v1/streams">/v1/streams</a> what is being judged</li>
<li><a href="/v1/events">/v1/events</a> recent switches, silences and rejected input</li>
<li><a href="/v1/config">/v1/config</a> configuration in force</li>
<li><a href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a></li>
</ul></body></html>
`;
