/** What the sections of the configuration are made of: keys with a default, a unit and a meaning. */
import { z } from 'zod';
import { NAME_PATTERN, NAME_RULE } from '../wire/feed.js';

export const name = () => z.string().regex(NAME_PATTERN, NAME_RULE);
export const count = (least = 1) => z.int().min(least);
export const positive = () => z.number().positive();

export type Field = <T extends z.ZodType>(
  schema: T,
  standard: z.input<T>,
  description: string,
  unit?: string,
) => z.ZodDefault<T>;

/** Annotates a key with its unit and description; `standard` is its default. */
export const field: Field = (schema, standard, description, unit) =>
  schema.meta({ description, ...(unit ? { unit } : {}) }).default(standard as never) as never;
export const optional: Field = (schema, standard, description, unit) =>
  schema.meta({ description, default: standard, ...(unit ? { unit } : {}) }).optional() as never;

/** A section whose keys all have defaults. */
export const section = <T extends z.core.$ZodLooseShape>(shape: T, description: string) =>
  z
    .strictObject(shape)
    .meta({ description })
    .prefault({} as never);

/** What the checks need to know besides the value itself. */
export interface Context {
  profileNames: string[];
  env: NodeJS.ProcessEnv;
  /** undefined: do not look at the disk (JSON schema, hello) */
  readText?: (path: string) => string;
}
export const nest = <T extends z.core.$ZodLooseShape>(filler: Field, shape: T, description: string) => {
  const object = z.strictObject(shape).meta({ description });
  return (filler === field ? object.prefault({} as never) : object.optional()) as z.ZodPrefault<typeof object>;
};

export function readable(context: Context, description: string) {
  return z
    .string()
    .min(1)
    .superRefine((path, issue) => {
      const fault = context.readText && faultOf(() => context.readText!(path));
      if (fault) issue.addIssue({ code: 'custom', message: `cannot be read: ${fault}` });
    })
    .meta({ description });
}

export const faultOf = (action: () => unknown): string | undefined => {
  try {
    action();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};
