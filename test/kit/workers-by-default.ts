/**
 * With TGOSPA_TEST_WORKERS=2, evaluators whose configuration does not say have two workers: every process of a test
 * loads this file first (`run.ts`), and tests that look from outside must not see a difference.
 */
import { evaluation } from '../../src/config/evaluator.js';

const wanted = process.env.TGOSPA_TEST_WORKERS;
if (wanted !== undefined) {
  const { workers } = evaluation.unwrap().shape;
  Object.defineProperty(workers.def, 'defaultValue', { value: wanted === 'auto' ? wanted : Number(wanted) });
}
