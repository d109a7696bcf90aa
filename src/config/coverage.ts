/** What of a scene is judged, as people write it down: what the reference knows, regions, and what is ignored. */
import { z } from 'zod';
import { type CoverageRules, KNOWLEDGE } from '../coverage/coverage.js';
import { type Region, regionProblem } from '../coverage/region.js';
import { type Field, positive } from './fields.js';

const place = () => z.tuple([z.number(), z.number()]);

const described = <T extends z.ZodType>(schema: T, description: string) => schema.meta({ description });

const sector = () =>
  z.strictObject({
    at: described(place(), 'the place it is seen from'),
    range: described(z.tuple([z.number().min(0), positive()]), 'nearest and farthest, in the unit of the distance'),
    azimuth: described(
      z.tuple([z.number(), z.number()]),
      'from and to, degrees clockwise from north; all around without',
    ).optional(),
  });

const region = () =>
  z
    .strictObject({
      polygon: described(z.array(place()).min(3).max(512), 'its corners: [x, y], or [latitude, longitude]').optional(),
      sector: described(sector(), 'a part of a ring around a place').optional(),
      box: described(
        z.tuple([z.number(), z.number(), positive(), positive()]),
        'left, top, width, height in a picture',
      ).optional(),
      altitude: described(z.tuple([z.number(), z.number()]), 'lowest and highest third coordinate').optional(),
    })
    .meta({ description: 'exactly one of polygon, sector and box, perhaps with a band of altitude' });

export const coverageShape = (filler: Field) => ({
  reference: filler(
    z.enum(KNOWLEDGE),
    'complete',
    'what the reference knows: complete, all objects; coverage, those inside the regions, outside nothing is judged; transponder, some of them: tracks are never false, or only inside the regions',
  ),
  regions: filler(z.array(region()).max(64), [], 'where the reference is complete'),
  within: filler(
    z.array(region()).max(64),
    [],
    'where the tracker can see at all: nothing outside is judged, whatever the reference knows; empty: everywhere',
  ),
  ignore: filler(z.array(region()).max(64), [], 'regions in which nothing is judged'),
  verticalWeight: filler(
    positive().max(1000),
    1,
    'a unit of the third coordinate, the altitude, counts as so many across',
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
