/** `npm run bench -- NAME`: runs the benchmark of that name with the arguments after it; kernel unless given. */

const [name = 'kernel', ...args] = process.argv.slice(2);
const BENCHMARKS = [
  'adapters',
  'cluster',
  'kernel',
  'moments',
  'overview',
  'page',
  'pipeline',
  'processes',
  'scores',
  'spikes',
  'study',
  'takeover',
];
if (!BENCHMARKS.includes(name)) {
  console.error(`no benchmark is called ${name}; there are ${BENCHMARKS.join(', ')}`);
  process.exit(2);
}
process.argv.splice(2, process.argv.length, ...args);
await import(`./${name}.js`);
