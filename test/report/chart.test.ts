/** The skeleton of reports: escaping, pages that need nothing else, and charts whose numbers are where they belong. */

import assert from 'node:assert/strict';
import { drawChart, stack, ticks } from '../../src/report/chart.js';
import { html } from '../../src/report/markup.js';
import { drawPage, section, table, tidy } from '../../src/report/page.js';
import { STYLE, trackClass } from '../../src/report/style.js';

const axis = (from: number, to: number) => ({ label: 'frame', from, to });

describe('the skeleton of reports', () => {
  it('escapes text and leaves markup alone', () => {
    const name = '<script>"a" & \'b\'';
    assert.equal(
      html`<b>${name}</b>${[html`<i>${1}</i>`, null, false, undefined]}`.text,
      '<b>&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;</b><i>1</i>',
    );
  });

  it('draws a page that loads nothing from anywhere', () => {
    const text = drawPage({ title: 'A & B', subtitle: '', body: section('one', 'One', html`<p>x</p>`), footer: '' });
    assert.match(text, /^<!doctype html>/);
    assert.match(text, /<title>A &amp; B<\/title>/);
    assert.match(text, /default-src &#39;none&#39;/);
    assert.doesNotMatch(text, /<script|<link|https?:/);
    assert.match(text, /prefers-color-scheme: dark/);
  });

  it('sets tables with headings, and the best row apart', () => {
    const { text } = table(
      [
        { name: 'a', value: 1 },
        { name: '<b>', value: 2 },
      ],
      [
        { heading: 'tracker', value: ({ name }) => name, text: true },
        { heading: 'distance', value: ({ value }) => value, hint: 'smaller is better' },
      ],
      { best: ({ value }) => value === 1 },
    );
    assert.match(text, /<tr class="best"><td class="text">a<\/td><td>1<\/td><\/tr>/);
    assert.match(text, /&lt;b&gt;/);
    assert.match(text, /<th title="smaller is better">distance<\/th>/);
  });

  it('has a colour for every class a chart may use', () => {
    const names = ['localization', 'missed', 'false', 'switch', ...Array.from({ length: 8 }, (_, n) => `s${n}`)];
    for (const name of names) assert.match(STYLE, new RegExp(`\\.${name} \\{ --paint: var\\(--${name}\\); \\}`));
    for (const track of ['7', 'a1', 'c4-second/5', 'é'])
      assert.match(STYLE, new RegExp(`\\.${trackClass(track)} \\{ --paint: #\\w{6}; \\}`));
  });

  it('puts round numbers on axes', () => {
    assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
    assert.deepEqual(ticks(1, 525, 5), [200, 400]);
    assert.deepEqual(
      ticks(0, 0.34, 4).map((value) => tidy(value)),
      ['0', '0.1', '0.2', '0.3'],
    );
    assert.deepEqual(ticks(3, 3, 5), [3]);
  });

  it('writes numbers without noise', () => {
    assert.deepEqual(
      [0, 0.1 + 0.2, 123456, 1234.5678, 2e-9, Number.NaN].map((value) => tidy(value)),
      ['0', '0.3', '123456', '1235', '2.000e-9', '–'],
    );
  });

  it('stands layers on each other', () => {
    const layers = stack(
      [
        { name: 'localization', className: 'localization', values: [1, 2] },
        { name: 'missed', className: 'missed', values: [3, 0] },
      ],
      (index) => index + 1,
    );
    assert.deepEqual(layers[1], {
      kind: 'layer',
      name: 'missed',
      className: 'missed',
      points: [
        [1, 1, 4],
        [2, 2, 2],
      ],
    });
  });

  it('draws lines, bars, spans and marks at their places', () => {
    const { text } = drawChart({
      caption: 'caption',
      description: 'a chart',
      x: axis(0, 10),
      y: axis(0, 5),
      height: 160,
      drawings: [
        {
          kind: 'line',
          name: 'line',
          className: 's0',
          points: [
            [0, 0],
            [10, 5],
          ],
        },
        { kind: 'bars', name: 'bars', className: 's1', bars: [[0, 5]], width: 5 },
        { kind: 'span', name: 'span', className: 's2', from: 5, to: 10 },
      ],
      marks: [{ x: 10, label: 'end' }],
    });
    assert.match(text, /class="curve s0" d="M64 120L984 20"/);
    assert.match(text, /class="bar s1" d="M64 120V20h459.5V120Z"/);
    assert.match(text, /class="span s2" x="524" y="20" width="460" height="100"/);
    assert.match(text, /class="mark" d="M984 20V120"/);
    assert.match(text, /<li><i class="s0"><\/i>line<\/li>/);
  });
});
