// What is seen: switches, parts of this node, buyers who ask too often. Each part says
// how old it is, and goes on being shown when nothing newer comes.

import { $, cell, el, keyed, mark, row, show, text } from './dom.js';
import { has, say, when } from './text.js';

const LATE = 6000; // milliseconds after which a part is told to be late
const MOST_MARKS = 100;

// named gives the text of a family's member, or its own name where it has none.
export const named = (family, name) => (has(family + '.' + name) ? say(family + '.' + name) : name);

export const age = (source) => Math.max(0, Math.round((performance.now() - source.at) / 1000));

function kind(e) {
  if (e.status === undefined) return 'lost';
  if (e.status === 404 || e.status === 405) return 'absent';
  return e.code === 'busy' || e.code === 'not_ready' ? 'busy' : 'other';
}

// fresh says how old a part is. signedIn: it is asked for.
export function fresh(id, source, signedIn) {
  const node = $('fresh-' + id);
  const seen = source.data !== null;
  const old = seen && performance.now() - source.at > LATE;
  const values = { ago: seen ? age(source) : '', trace: source.trouble?.trace || '' };
  let state = 'live';
  if (!signedIn) state = 'out';
  else if (source.trouble) state = 'away';
  else if (old || !seen) state = seen ? 'late' : 'wait';
  let key = 'fresh.' + state;
  if (state === 'away') key = 'away.' + kind(source.trouble) + (seen ? '' : '.never');
  if (state === 'out' && !seen) key = 'fresh.wait';
  text(node, say(key, values));
  mark(node, 'state', state);
  mark(node.closest('.panel'), 'fresh', state);
}

// scope says where a switch is turned; titles gives the titles of sales.
export function scope(sale, titles) {
  if (!sale) return say('everywhere');
  return titles.has(sale) ? say('sale.one', { title: titles.get(sale), id: sale }) : say('sale.id', { id: sale });
}

export const isOn = (source) => (source.data?.switches || []).filter((s) => s.on);

// sum is what nobody may overlook: how much is on.
export function sum(source, titles, signedIn) {
  const on = isOn(source);
  const seen = source.data !== null;
  const stale = seen && (source.trouble || !signedIn || performance.now() - source.at > LATE);
  const state = !seen ? 'wait' : on.length ? 'on' : 'none';
  mark($('sum'), 'state', state);
  mark($('sum'), 'stale', stale ? 'yes' : '');
  text($('sum-title'), say('sum.' + state, { n: on.length }));
  const names = on.map((s) => say('sum.one', { name: named('switch', s.name), scope: scope(s.sale, titles) }));
  if (stale) names.push(say('sum.old', { ago: age(source) }));
  text($('sum-text'), names.join(' · '));
  show($('sum-text'), names.length > 0);
  document.title = say(on.length ? 'title.on' : stale || !seen ? 'title.away' : 'title.none', { n: on.length });
}

const columns = ['switch', 'state', 'scope', 'by', 'at', 'reason', 'act'];

// labels names the cells of a row for screens too narrow for headings.
function labels(tr, names) {
  for (const name of names) cell(tr, name).dataset.label = say('col.' + name);
}

export const switchKey = (s) => s.name + '/' + (s.sale || '');

export function switches(source, titles, onFlip) {
  const make = () => {
    const tr = row(columns);
    tr.querySelector('th').append(el('span', { class: 'name' }), el('code'));
    cell(tr, 'state').append(el('strong', { class: 'lamp' }));
    cell(tr, 'act').append(el('button', { type: 'button', class: 'quiet flip' }));
    return tr;
  };
  keyed($('switch-rows'), source.data?.switches || [], switchKey, make, (tr, s) => {
    labels(tr, columns);
    mark(tr, 'on', s.on ? 'yes' : 'no');
    text(tr.querySelector('.name'), named('switch', s.name));
    text(tr.querySelector('code'), s.name);
    text(tr.querySelector('.lamp'), say(s.on ? 'on' : 'off'));
    text(cell(tr, 'scope'), scope(s.sale, titles));
    text(cell(tr, 'by'), s.by || '–');
    text(cell(tr, 'at'), s.at ? when(s.at) : say('never'));
    text(cell(tr, 'reason'), s.reason || '–');
    const button = tr.querySelector('button');
    text(button, say(s.on ? 'flip.turn_off' : 'flip.turn_on'));
    button.setAttribute('aria-label', `${button.textContent} ${named('switch', s.name)}, ${scope(s.sale, titles)}`);
    button.onclick = () => onFlip({ name: s.name, sale: s.sale || '', on: !s.on });
  });
}

// node shows the parts that /readyz names.
export function node(source) {
  const data = source.data;
  text($('node-state'), data ? say(data.ready ? 'node.ready' : 'node.not_ready') : '');
  mark($('node-state'), 'state', data ? (data.ready ? 'good' : 'bad') : '');
  keyed($('node-rows'), data?.checks || [], (c) => c.name, () => row(['part', 'state']), (tr, c) => {
    mark(tr, 'ready', c.ready ? 'yes' : 'no');
    text(cell(tr, 'part'), named('part', c.name));
    text(cell(tr, 'state'), say(c.ready ? 'ready' : 'not_ready'));
  });
}

// notReady makes parts of the answer of a node that is not ready, which names only
// what is wrong.
export function notReady(e, before) {
  if (e.status !== 503 || e.code !== 'not_ready') return null;
  const wrong = e.fields.map((f) => f.field);
  const names = [...new Set([...(before?.checks || []).map((c) => c.name), ...wrong])];
  return { ready: false, checks: names.map((name) => ({ name, ready: !wrong.includes(name) })).filter((c) => c.name !== 'process' || !c.ready) };
}

const markColumns = ['buyer', 'endpoint', 'refused', 'node', 'last', 'until'];

// limits shows the buyers who ask too often.
export function limits(source) {
  const data = source.data;
  const marked = data?.marked || [];
  const notes = data ? [say(marked.length ? 'limits.some' : 'limits.none')] : [];
  if (data && !data.shared && data.endpoints.some((e) => e.per_buyer > 0)) notes.push(say('limits.alone'));
  if (data && !data.all_nodes) notes.push(say('limits.one_node'));
  if (data?.unlisted > 0) notes.push(say('limits.unlisted', { n: data.unlisted }));
  text($('limits-note'), notes.join(' '));
  show($('marks'), marked.length > 0);
  const key = (m) => [m.buyer_id, m.node, m.endpoint].join('\n');
  keyed($('mark-rows'), marked.slice(0, MOST_MARKS), key, () => row(markColumns), (tr, m) => {
    labels(tr, markColumns);
    text(cell(tr, 'buyer'), m.buyer_id);
    text(cell(tr, 'endpoint'), named('endpoint', m.endpoint));
    text(cell(tr, 'refused'), m.refused);
    text(cell(tr, 'node'), m.node);
    text(cell(tr, 'last'), when(m.last_at));
    text(cell(tr, 'until'), when(m.until));
  });
  show($('marks-more'), marked.length > MOST_MARKS);
  text($('marks-more'), say('limits.more', { n: marked.length - MOST_MARKS }));
}
