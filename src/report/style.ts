/**
 * How reports look: one style sheet, light or dark as the reader's system is. Charts use its classes and never name a
 * colour: `localization`, `missed`, `false`, `switch` for the components, as on the live page, `t0` to `t19` for
 * tracks, `s0` to `s7` for anything else. The colours can be told apart with every common kind of colour blindness.
 */
import { TRACK_COLOURS, trackColour } from './track-colour.js';

const LIGHT = {
  localization: '#5aa9dd',
  missed: '#d98600',
  false: '#b25c98',
  switch: '#00805c',
  s0: '#0072b2',
  s1: '#d55e00',
  s2: '#009e73',
  s3: '#aa4499',
  s4: '#b58900',
  s5: '#2a9fd6',
  s6: '#7a5230',
  s7: '#5f6b76',
};

const DARK: Record<keyof typeof LIGHT, string> = {
  localization: '#62b6ec',
  missed: '#f0a020',
  false: '#d486bc',
  switch: '#2fc294',
  s0: '#56b4e9',
  s1: '#ff8c42',
  s2: '#3fd0a4',
  s3: '#e59ac7',
  s4: '#f0d442',
  s5: '#9ad4ff',
  s6: '#d3a679',
  s7: '#aab4be',
};

/** The class of a track, the same wherever it appears. */
export const trackClass = (track: string): string => `t${trackColour(track)}`;

const classes = Object.keys(LIGHT) as Array<keyof typeof LIGHT>;
const variables = (colours: Record<string, string>) => classes.map((name) => `--${name}: ${colours[name]};`).join(' ');
const paints = [
  ...classes.map((name) => `.${name} { --paint: var(--${name}); }`),
  ...TRACK_COLOURS.map((colour, n) => `.t${n} { --paint: ${colour}; }`),
].join('\n');

export const STYLE = `
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #5c6670; --line: #d5dae0; --panel: #f5f7f9; --good: #0a7d55; --bad: #b3261e; --reference: #0b62b0; --tracker: #c81e2e; ${variables(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e8ebee; --faint: #9aa5b0; --line: #353c44; --panel: #1d2127; --good: #4fd1a1; --bad: #ff8a80; --reference: #5db2ff; --tracker: #ff6670; ${variables(DARK)} } }
${paints}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 80rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 1.5rem 0 .25rem; }
p { margin: .4rem 0 .8rem; max-width: 62rem; }
a { color: inherit; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .875em; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; overflow-x: auto; }
.faint { color: var(--faint); }
.good { color: var(--good); }
.bad { color: var(--bad); }
.note { background: var(--panel); border-left: 4px solid var(--s0); border-radius: 0 6px 6px 0; padding: .6rem 1rem; margin: .8rem 0; }
.note p { margin: .2rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; color: var(--faint); padding-bottom: .25rem; }
th, td { padding: .28rem .55rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; border-bottom-width: 2px; white-space: normal; vertical-align: bottom; line-height: 1.25; }
th:first-child, td:first-child, .text { text-align: left; }
tr.best td { font-weight: 600; }
details { margin: .5rem 0 1rem; }
summary { cursor: pointer; }
figure { margin: 1rem 0 1.5rem; }
figcaption { color: var(--faint); font-size: .92rem; margin-bottom: .25rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 12px; font-family: inherit; }
svg text.track { fill: #000; font-size: 11px; }
svg .edge { fill: var(--paper); }
svg text.strong { fill: var(--ink); font-weight: 600; }
svg .axis { stroke: var(--line); fill: none; shape-rendering: crispEdges; }
svg .grid { stroke: var(--line); stroke-dasharray: 2 4; fill: none; shape-rendering: crispEdges; }
svg .area, svg .bar { fill: var(--paint); }
svg .area { fill-opacity: .85; }
svg .curve { stroke: var(--paint); fill: none; stroke-width: 1.75; stroke-linejoin: round; }
svg .dot { fill: var(--paint); }
svg .outline { stroke: var(--paint); fill: none; stroke-width: 2; }
svg .span { fill: var(--paint); fill-opacity: .14; }
svg .mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 5 3; fill: none; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; list-style: none; padding: 0; margin: .25rem 0; font-size: .9rem; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; background: var(--paint); }
.bar-cell { display: inline-flex; width: 9rem; height: .8rem; vertical-align: middle; border-radius: 2px; overflow: hidden; background: var(--panel); }
.bar-cell i { height: 100%; background: var(--paint); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .75rem; list-style: none; padding: 0; margin: .5rem 0 1rem; }
.cards li { border: 1px solid var(--line); border-top: 4px solid var(--paint, var(--line)); border-radius: 4px; padding: .4rem .5rem; font-size: .82rem; line-height: 1.35; overflow-wrap: anywhere; }
.cards strong { font-size: .95rem; }
.film { margin: .5rem 0; max-width: 40rem; }
.film svg { border: 1px solid var(--line); border-radius: 4px; }
.film .picture { visibility: hidden; }
.film .reference { fill: none; stroke: var(--reference); stroke-width: 1.6; }
.film .tracker { fill: none; stroke: var(--tracker); stroke-width: 1.4; stroke-dasharray: 4 2.5; }
.strip { display: flex; align-items: center; gap: 1px; margin-top: .3rem; }
.strip label { margin: 0 .6rem 0 .3rem; }
.step { appearance: none; flex: 1 1 0; min-width: 2px; height: 1.1rem; margin: 0; background: var(--line); cursor: pointer; }
.step.worst { background: var(--missed); }
.step:hover, .step:checked { background: var(--reference); }
.step:focus-visible { outline: 2px solid var(--ink); outline-offset: 1px; }
.moments { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: .5rem 1.5rem; }
svg .swap { stroke: var(--ink); stroke-width: 1.5; fill: none; }
svg .dashed { stroke-dasharray: 5 3; }
footer { margin-top: 3rem; color: var(--faint); font-size: .88rem; border-top: 1px solid var(--line); padding-top: .75rem; }
@media print { body { max-width: none; padding: 0; } details { display: block; } h2 { break-after: avoid; } figure { break-inside: avoid; } }
`;
