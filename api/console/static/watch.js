// The tiles of the five things, drawn; and what changed of them, to be told.

import { named } from './board.js';
import { $, el, keyed, mark, show, text } from './dom.js';
import { tiles } from './five.js';
import { draw, spark, Trails } from './plot.js';
import { say } from './text.js';

const trails = new Trails();
let states = new Map();

const nameOf = (tile, row) => tile.key + '/' + row.key;

// seen takes in an overview, and gives sentences about what became bad or good again.
export function seen(overview) {
  const all = tiles(overview);
  trails.add(new Map(all.flatMap((t) => t.rows.map((r) => [nameOf(t, r), r.number]))));
  const news = all.filter((t) => states.has(t.key) && states.get(t.key) !== t.state && [t.state, states.get(t.key)].includes('bad'))
    .map((t) => say('say.tile', { what: named('tile', t.key), state: named('tile.state', t.state || 'good') }));
  states = new Map(all.map((t) => [t.key, t.state]));
  return news;
}

export function forget() {
  trails.clear();
  states.clear();
}

const makeTile = () => el('section', { class: 'tile' }, el('div', { class: 'head' }, el('h3'), el('p', { class: 'badge' })), el('div', { class: 'rows' }));

const makeRow = () => {
  const box = el('div', { class: 'line' });
  box.append(el('span', { class: 'label' }), spark(), el('strong', { class: 'value' }), el('span', { class: 'unseen is' }), el('span', { class: 'note' }));
  return box;
};

// render shows what was seen last.
export function render(source) {
  const all = source.data ? tiles(source.data) : [];
  text($('five-node'), source.data ? say('five.node', { node: source.data.node }) : '');
  show($('five-node'), source.data !== null);
  keyed($('tiles'), all, (t) => t.key, makeTile, (box, tile) => {
    mark(box, 'state', tile.state);
    text(box.querySelector('h3'), named('tile', tile.key));
    text(box.querySelector('.badge'), named('tile.state', tile.state || 'good'));
    keyed(box.querySelector('.rows'), tile.rows, (r) => r.key, makeRow, (line, row) => {
      mark(line, 'state', row.state);
      text(line.querySelector('.label'), row.label);
      text(line.querySelector('.value'), row.value);
      text(line.querySelector('.is'), row.state && named('tile.state', row.state)); // the mark beside the value is for the eye
      text(line.querySelector('.note'), row.note);
      show(line.querySelector('.note'), row.note !== '');
      const plot = line.querySelector('svg');
      draw(plot, trails.of(nameOf(tile, row)), row.top || 0);
      plot.classList.toggle('empty', row.number === undefined);
    });
  });
}
