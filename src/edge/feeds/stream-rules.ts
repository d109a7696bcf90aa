/**
 * What frames of a stream must look like. Its feeds share the rules, so that the first point fixes the dimension for
 * all.
 */
import { type Config, pointProfileLines, type ResolvedStream } from '../../config/config.js';
import type { FrameRules } from '../../wire/frame-check.js';

export class StreamRules {
  readonly #rules = new Map<string, FrameRules>();

  /** dimension of the points of streams that were there before */
  readonly #dimensions = new Map<string, number>();

  constructor(readonly limits: Config['limits']) {}

  /** A stream that was there before, with points of this dimension; 0 when it has boxes, or none were seen. */
  restore(stream: string, dimensions: number): void {
    this.#dimensions.set(stream, dimensions);
  }

  of(stream: string, plan: ResolvedStream): FrameRules {
    const rules = this.#rules.get(stream) ?? this.#newRules(stream, plan);
    rules.shape = plan.shape;
    rules.strict = plan.settings.strict;
    rules.geodesic = Object.values(plan.profiles).some((params) => params.distance === 'geodesic');
    if (rules.shape === 'point') rules.dimensions ||= this.#dimensions.get(stream) ?? 0;
    this.#rules.set(stream, rules);
    return rules;
  }

  /** A retired stream may come back with other objects. */
  forget(stream: string): void {
    this.#rules.delete(stream);
    this.#dimensions.delete(stream);
  }

  #newRules(stream: string, { shape }: ResolvedStream): FrameRules {
    return {
      objectsMax: this.limits.objects,
      idLengthMax: this.limits.idLength,
      shape,
      dimensions: 0,
      geodesic: false,
      strict: false,
      pointRemedy: `configure a profile for points in tgospa.yaml:\n${pointProfileLines(stream)}`,
    };
  }
}
