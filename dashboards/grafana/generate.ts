/** Writes the dashboards as JSON beside their descriptions (`npm run dashboards`); the files are committed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { comparison } from './comparison.js';
import { dashboardJson } from './grafana.js';
import { overview } from './overview.js';
import { series } from './series.js';

/** File name to content. */
export const files = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ overview, series, comparison }).map(([name, spec]) => [`${name}.json`, dashboardJson(spec)]),
  );

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL('../../../dashboards/grafana/', import.meta.url));
  for (const [name, content] of Object.entries(files())) writeFileSync(join(folder, name), content);
}
