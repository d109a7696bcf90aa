/** The two halves of a greeting that need no connection: the format a hello names, and the welcome that answers it. */
import { adapters, formatByName } from '../../../adapters/index.js';
import type { Format } from '../../../adapters/kit/adapter.js';
import type { Config, ResolvedStream } from '../../config/config.js';
import { windowWarning } from '../../metric/params.js';
import { Fault, show } from '../../wire/fault.js';
import type { Finding } from '../../wire/findings.js';
import type { Hello, Outgoing } from '../../wire/messages.js';

/** The format of a feed with its options; null for native frames, which need no decoding. */
export function formatOf({ format: name, options }: Hello, configured: Config['formats']): Format | Fault | null {
  const format = formatByName(name, options, configured);
  if (format === null) {
    const known = [...Object.keys(configured), ...adapters.keys()].join(', ');
    return new Fault('format_unknown', 'format', `no format is called ${name}; known are ${known}`, name);
  }
  if (Array.isArray(format)) {
    const [{ path, value, message }] = format;
    return new Fault('options_invalid', `options.${path}`, `option ${path} of format ${name} ${message}`, show(value));
  }
  return format.adapter.name === 'native' && format.given.size === 0 ? null : format;
}

export function welcomeMessage(
  session: string,
  nextSeq: number,
  { settings, shape, profiles }: ResolvedStream,
  limits: Config['limits'],
  findings: readonly Finding[],
): Outgoing {
  const unwise = Object.entries(profiles).flatMap(([name, params]) => {
    const warning = windowWarning(params, settings.windowFrames);
    return warning ? [`profile ${name}: ${warning}`] : [];
  });
  const warnings = [...unwise, ...findings.map(({ finding, message, remedy }) => `${finding}: ${message}; ${remedy}`)];
  return {
    type: 'welcome',
    session,
    nextSeq,
    credit: limits.creditFrames,
    maxPayloadBytes: limits.payloadBytes,
    maxObjects: limits.objects,
    heartbeatMs: limits.heartbeatMs,
    reconnectMaxMs: limits.reconnectMaxMs,
    shape,
    profiles: settings.profiles,
    windowFrames: settings.windowFrames,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}
