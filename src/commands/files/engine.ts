/**
 * What the JavaScript engine is told before files are read. A command lives for seconds: code that is optimized before
 * it has seen all shapes of objects is thrown away and optimized again, which was half of the processor time of a study
 * and a tenth of that of a short clip. Only then: what the engine loads of Node itself is compiled beforehand, for the
 * flags that it starts with.
 */

let isTold = false;

/** Has code optimized later from now on, in all threads. */
export function optimizeLater(): void {
  if (isTold) return;
  isTold = true;
  const olderEngine = Number.parseInt(process.versions.node, 10) < 22;
  process
    .getBuiltinModule('node:v8')
    .setFlagsFromString(olderEngine ? '--interrupt-budget=600000' : '--invocation-count-for-turbofan=20000');
}
