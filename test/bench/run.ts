/** `npm run bench -- NAME`: runs the benchmark of that name with the arguments after it; kernel unless given. */

const [name = 'kernel', ...args] = process.argv.slice(2);
const NAMES = ['kernel', 'pipeline', 'spikes', 'page', 'adapters'];
if (!NAMES.includes(name)) {
  console.error(`no benchmark is called ${name}; there are ${NAMES.join(', ')}`);
  process.exit(2);
}
process.argv.splice(2, process.argv.length, ...args);
await import(`./${name}.js`);
