/**
 * The configuration of one worker of several. What the process may have as a whole is divided among them: room on the
 * disk, what waits for it, and what waits to be evaluated; one stream uses the share of its worker at most.
 */
import type { Config } from '../config/config.js';

export function shareOf(config: Config, dir: string, workers: number): Config {
  const { data, evaluation } = config;
  const divided = (whole: number) => Math.ceil(whole / workers);
  return {
    ...config,
    data: { ...data, dir, maxBytes: divided(data.maxBytes), queueMaxBytes: divided(data.queueMaxBytes) },
    evaluation: { ...evaluation, backlogFrames: divided(evaluation.backlogFrames) },
  };
}
