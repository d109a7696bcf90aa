/** Formats with their options by name, so that a hello need only say the name. */
import { z } from 'zod';
import { formatByName } from '../../adapters/index.js';
import { field, name } from './fields.js';

const format = z
  .strictObject({
    adapter: z.string().min(1).meta({ description: 'which adapter; adapters/README.md lists them' }),
    options: field(
      z.record(z.string().min(1), z.unknown()),
      {},
      'options of that adapter; a hello may add to them or override them',
    ),
  })
  .superRefine(({ adapter, options }, issue) => {
    const found = formatByName(adapter, options);
    if (found === null) issue.addIssue({ code: 'custom', path: ['adapter'], message: 'no adapter has this name' });
    else if (Array.isArray(found))
      for (const { path, message } of found)
        issue.addIssue({ code: 'custom', path: ['options', path], message: `${path} ${message}` });
  })
  .meta({ description: 'an adapter with options' });

export const formats = field(
  z.record(name(), format),
  {},
  'formats by name, for `format` in a hello, which may also name an adapter directly',
);
