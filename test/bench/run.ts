/** `npm run bench -- NAME`: runs the benchmark of that name with the arguments after it; kernel unless given. */

const [name = 'kernel', ...args] = process.argv.slice(2);
if (!['kernel', 'pipeline', 'spikes', 'page'].includes(name)) {
  console.error(`no benchmark is called ${name}; there are kernel, pipeline, spikes and page`);
  process.exit(2);
}
process.argv.splice(2, process.argv.length, ...args);
await import(`./${name}.js`);
