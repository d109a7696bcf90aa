/** What of a scene is judged, as people write it down: what the reference knows, regions, and what is ignored. */
import { z } from 'zod';
import { type CoverageRules, KNOWLEDGE } from '../coverage/coverage.js';
import { ONE_SHAPE, type Region, regionProblem } from '../coverage/region.js';
import { type Field, positive } from './fields.js';

const place = () => z.tuple([z.number(), z.number()]);

const described = <T extends z.ZodType>(schema: T, description: string) => schema.meta({ description });

const sector = () =>
  z.strictObject({
    at: described(place(), 'the position it is seen from'),
    range: described(z.tuple([z.number().min(0), positive()]), 'minimum and maximum, in the unit of the distance'),
    azimuth: described(
      z.tuple([z.number(), z.number()]),
      'from and to, in degrees clockwise from north; a full circle if absent',
    ).optional(),
  });

const region = () =>
  z
    .strictObject({
      polygon: described(z.array(place()).min(3).max(512), 'its corners: [x, y] or [latitude, longitude]').optional(),
      sector: described(sector(), 'part of a ring around a position').optional(),
      box: described(
        z.tuple([z.number(), z.number(), positive(), positive()]),
        'left, top, width, height in a picture',
      ).optional(),
      altitude: described(z.tuple([z.number(), z.number()]), 'minimum and maximum of the third coordinate').optional(),
    })
    .meta({ description: `${ONE_SHAPE}, perhaps with a band of altitude` });

export const coverageShape = (filler: Field) => ({
  reference: filler(
    z.enum(KNOWLEDGE),
    'complete',
    'which objects the reference knows. complete: all of them; coverage: those inside the regions, and nothing outside is judged; transponder: some of them, and tracks are never false, or only inside the regions',
  ),
  regions: filler(z.array(region()).max(64), [], 'where the reference is complete'),
  within: filler(
    z.array(region()).max(64),
    [],
    'where the tracker can see: nothing outside is judged, whatever the reference knows; empty: everywhere',
  ),
  ignore: filler(z.array(region()).max(64), [], 'regions in which nothing is judged'),
  verticalWeight: filler(
    positive().max(1000),
    1,
    'weight of one unit of the third coordinate, the altitude, relative to a horizontal one',
  ),
});

export interface CoverageKeys {
  reference: CoverageRules['knows'];
  regions: readonly Region[];
  ignore: readonly Region[];
  within: readonly Region[];
}

/** The first region that makes no sense; null when all do. */
export function coverageMistake(
  { reference, regions, ignore, within }: CoverageKeys,
  onEarth: boolean,
): { path: string; message: string } | null {
  if (reference === 'coverage' && regions.length === 0)
    return { path: 'regions', message: 'must name a region when reference is coverage' };
  for (const [name, list] of Object.entries({ regions, ignore, within }))
    for (const [n, one] of list.entries()) {
      const wrong = regionProblem(one, onEarth);
      if (wrong) return { path: `${name}[${n}]${wrong.path && `.${wrong.path}`}`, message: wrong.message };
    }
  return null;
}
