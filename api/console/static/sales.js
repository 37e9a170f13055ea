// The sales: state, countdown by the server's time, and where the units of each item
// stand.

import { OF_SALE } from './actions.js';
import { age, named } from './board.js';
import { $, cell, el, keyed, mark, row, show, text } from './dom.js';
import { left, say, when } from './text.js';

const columns = ['item', 'available', 'taken', 'released', 'stock'];
const order = ['open', 'paused', 'scheduled', 'ended', 'cleaned'];

export const isOver = (sale) => sale.state === 'ended' || sale.state === 'cleaned';

// sorted puts first what sells, then what opens soonest; of what is over the latest.
function sorted(sales) {
  return [...sales].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state)
    || (isOver(a) ? Date.parse(b.closes_at) - Date.parse(a.closes_at) : Date.parse(a.opens_at) - Date.parse(b.opens_at)));
}

function make() {
  const box = el('article', { class: 'sale' });
  const table = el('table', { role: 'table' }, el('caption', { class: 'unseen' }),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...columns.map((name) => {
      const th = el('th', { role: 'columnheader', scope: 'col' });
      th.dataset.cell = name;
      return th;
    }))), el('tbody', { role: 'rowgroup' }));
  box.append(el('div', { class: 'head' }, el('h3'), el('p', { class: 'badge' }), el('button', { type: 'button', class: 'quiet act' })), el('p', { class: 'clock', role: 'timer', 'aria-live': 'off' }),
    el('p', { class: 'note times' }), el('p', { class: 'bad pauses' }), el('p', { class: 'note age' }), table);
  return box;
}

// countdown says how long it is to what comes next; now is the server's time.
function countdown(sale, now) {
  if (isOver(sale)) return say('sale.closed', { at: when(sale.closes_at) });
  if (Number.isNaN(now)) return '';
  const ms = Date.parse(sale.opens_at) - now; // one that a switch pauses may be yet to open
  if (ms > 0) return say('sale.opens_in', { left: left(ms) });
  return sale.state === 'scheduled' ? say('sale.opening') : say('sale.closes_in', { left: left(Date.parse(sale.closes_at) - now) });
}

// byLog tells that somebody else than the one who judges says what is left.
const byLog = (sale, units) => units.by === 'log' && sale.strategy !== 'postgres' && sale.state !== 'scheduled' && !isOver(sale);

const number = (n) => (n === undefined ? '–' : String(n));

function items(table, sale, detailed) {
  text(table.caption, say('sale.numbers', { title: sale.title }));
  for (const th of table.tHead.querySelectorAll('th')) text(th, say('col.' + th.dataset.cell));
  keyed(table.tBodies[0], sale.items, (i) => i.sku, () => {
    const tr = row(columns);
    cell(tr, 'item').append(el('span', { class: 'name' }), el('code'), el('span', { class: 'note' }));
    return tr;
  }, (tr, i) => {
    const units = i.units || {};
    text(tr.querySelector('.name'), i.title || i.sku);
    text(tr.querySelector('code'), i.sku);
    text(tr.querySelector('.note'), i.next_release_at ? say('sale.next', { at: when(i.next_release_at) }) : '');
    text(cell(tr, 'available'), byLog(sale, units) ? say('sale.by_log', { n: units.available }) : number(units.available));
    text(cell(tr, 'taken'), number(units.taken));
    text(cell(tr, 'released'), number(units.released));
    text(cell(tr, 'stock'), detailed ? number(i.stock) : '–');
  });
}

function fill(box, sale, detail, now, onAct) {
  const full = detail.data || sale;
  const soldOut = sale.state === 'open' && sale.items.length > 0 && sale.items.every((i) => i.sold_out);
  const pauses = full.pauses || [];
  const act = box.querySelector('.act');
  text(act, say('act.any'));
  act.setAttribute('aria-label', `${act.textContent} ${sale.title}`);
  act.onclick = () => onAct(sale, OF_SALE.filter((a) => !a.fits || a.fits(full)));
  mark(box, 'state', soldOut ? 'sold_out' : sale.state);
  text(box.querySelector('h3'), sale.title);
  text(box.querySelector('.badge'), named('state', soldOut ? 'sold_out' : sale.state));
  text(box.querySelector('.clock'), countdown(sale, now));
  text(box.querySelector('.times'), `${say('sale.times', { opens: when(sale.opens_at), closes: when(sale.closes_at) })} · ${sale.id} · ${sale.strategy}`);
  const why = pauses.length ? [say('sale.pauses', { reasons: pauses.map((p) => named('pause', p)).join(', ') })] : [];
  if (full.confirmed === false && sale.state === 'scheduled') why.push(say('sale.unconfirmed'));
  text(box.querySelector('.pauses'), why.join(' '));
  const old = detail.data && (detail.trouble || performance.now() - detail.at > 15000);
  const blank = detail.data && !detail.data.items.some((i) => i.units);
  text(box.querySelector('.age'), old ? say('sale.old', { ago: age(detail) }) : blank ? say('sale.no_units') : '');
  items(box.querySelector('table'), full, detail.data !== null);
}

// render shows the list; detail gives what is known of one sale, now the server's
// time, and onAct(sale, actions) is told that somebody wants to act.
export function render(source, detail, now, onAct) {
  const sales = sorted(source.data?.sales || []);
  const alive = sales.filter((s) => !isOver(s));
  const over = sales.filter(isOver);
  show($('no-sales'), source.data !== null && alive.length === 0);
  show($('sales-rest'), Boolean(source.data?.next_cursor));
  text($('sales-rest'), say('sales.rest', { n: source.data?.listed }));
  keyed($('sale-list'), alive, (s) => s.id, make, (box, s) => fill(box, s, detail(s.id), now, onAct));
  show($('over'), over.length > 0);
  text($('over-title'), say('sales.over', { n: over.length }));
  keyed($('over-list'), $('over').open ? over : [], (s) => s.id, make, (box, s) => fill(box, s, detail(s.id), now, onAct));
}
