// What is seen: this module alone touches the document.

import { current, has, left, money, say, when } from './text.js';

const $ = (id) => document.getElementById(id);
const set = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

// facts reads what the page itself says of the sale.
export function facts() {
  const d = $('sale').dataset;
  const items = [...document.querySelectorAll('.item')].map((li) => ({
    sku: li.dataset.sku, title: li.querySelector('h2').textContent, price: li.dataset.price, currency: li.dataset.currency, sold_out: false,
  }));
  return {
    id: d.sale, needs: d.needs, title: $('title').textContent, state: 'wait', items,
    opens_at: d.opensAt, closes_at: d.closesAt, clickable_at: d.opensAt, limit_per_buyer: Number(d.limit),
  };
}

// onBuy, onLanguage: what the visitor may do.
export function wire({ onBuy, onLanguage }) {
  $('language').addEventListener('click', onLanguage);
  for (const li of document.querySelectorAll('.item')) {
    li.querySelector('.buy').addEventListener('click', () =>
      onBuy(li.dataset.sku, Number(li.querySelector('select').value) || 1));
  }
}

// sale shows what the sale says; lock(item) gives why an item cannot be bought
// now, '' when it can.
export function sale(s, lock) {
  document.documentElement.lang = current() === 'zh' ? 'zh-CN' : 'en';
  document.title = s.title;
  set($('title'), s.title);
  set($('language'), say('language'));
  $('language').lang = current() === 'zh' ? 'en' : 'zh-CN';
  set($('limit'), say('limit', { n: s.limit_per_buyer }));
  for (const li of document.querySelectorAll('.item')) {
    const item = s.items.find((i) => i.sku === li.dataset.sku);
    li.hidden = !item;
    if (item) itemLine(li, item, s, lock(item));
  }
}

function itemLine(li, item, s, why) {
  set(li.querySelector('h2'), item.title);
  set(li.querySelector('.price'), money(item.price, item.currency));
  const most = Math.min(Math.max(s.limit_per_buyer, 1), 10);
  const select = li.querySelector('select');
  if (select.options.length !== most) {
    select.replaceChildren(...Array.from({ length: most }, (_, i) => new Option(String(i + 1))));
  }
  li.querySelector('.quantity').hidden = most < 2 || !['', 'wait', 'busy', 'paused'].includes(why);
  set(li.querySelector('.quantity span'), say('quantity'));
  const button = li.querySelector('.buy');
  button.disabled = why !== '';
  select.disabled = why !== '' && why !== 'wait';
  const more = why === 'sold_out' && item.next_release_at;
  set(button, more ? say('buy.more', { time: when(item.next_release_at) }) : say(why ? 'buy.' + why : 'buy'));
  li.classList.toggle('gone', why === 'sold_out');
  const next = li.querySelector('.next');
  next.hidden = !item.sold_out || !item.next_release_at;
  if (!next.hidden) set(next, say('next', { time: when(item.next_release_at) }));
}

// clock shows the countdown: kind wait, scheduled, own, late, open or ended.
export function clock(kind, ms, s) {
  set($('count-label'), say('count.' + kind));
  set($('count'), kind === 'wait' ? '–' : kind === 'ended' || kind === 'late' ? '' : left(ms));
  set($('opens'), kind === 'ended' ? '' : say(kind === 'open' ? 'closes' : 'opens', { time: when(kind === 'open' ? s.closes_at : s.opens_at) }));
  set($('hint'), kind === 'scheduled' ? say('hint') : '');
  $('sale').dataset.phase = kind;
}

export function badge(state) {
  set($('state'), say('state.' + state));
  $('state').dataset.state = state;
}

let announced = '';

// announce tells screen readers, once.
export function announce(text) {
  if (text && text !== announced) set($('announce'), text);
  announced = text;
}

// outcome shows how the visitor's attempt stands: o has key, tone, values,
// order, text (in place of the key's) and actions; null takes it away.
export function outcome(o) {
  const box = $('outcome');
  box.hidden = !o;
  if (!o) return;
  const title = say('title.' + (o.title || (has('title.' + o.key) ? o.key : 'unknown')));
  const text = (has(o.key) ? say(o.key, o.values) : o.text || '') + (o.order && o.order.refund_due ? ' ' + say('refund') : '');
  box.dataset.outcome = o.key;
  box.dataset.tone = o.tone || 'calm';
  set($('outcome-title'), title);
  set($('outcome-text'), text);
  details(o.order);
  actions(o.actions || []);
  announce(title + (text ? '. ' + text : ''));
}

// focusOutcome takes the keyboard there: the button that was pressed is locked.
export const focusOutcome = () => $('outcome').focus({ preventScroll: false });

function titleOf(sku) {
  const li = [...document.querySelectorAll('.item')].find((node) => node.dataset.sku === sku);
  return li ? li.querySelector('h2').textContent : sku;
}

function details(order) {
  const list = $('order');
  list.hidden = !order;
  const rows = [];
  if (order) {
    rows.push(['order', order.order_id]);
    const lines = order.lines.map((l) => `${titleOf(l.sku)} × ${l.quantity}`);
    if (lines.length > 0) rows.push(['lines', lines.join(current() === 'zh' ? '，' : ', ')]);
    if (order.amount) rows.push(['amount', money(order.amount, order.currency)]);
    if (order.pay_by && order.status === 'placed') rows.push(['pay_by', when(order.pay_by)]);
  }
  const text = JSON.stringify([rows, current()]);
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...rows.flatMap(([key, value]) => {
    const term = document.createElement('dt');
    const data = document.createElement('dd');
    term.textContent = say(key);
    data.textContent = value;
    data.className = key;
    return [term, data];
  }));
}

// actions are buttons {key, values, quiet, do}, or links {key, values, href}.
// They are made again only when they change, so the keyboard keeps its place.
function actions(list) {
  const box = $('actions');
  const text = JSON.stringify([list.map((a) => [a.key, a.href, a.values, a.off]), current()]);
  if (box.dataset.shown === text) return;
  const held = box.contains(document.activeElement);
  box.dataset.shown = text;
  box.replaceChildren(...list.map((a) => {
    const node = document.createElement(a.href ? 'a' : 'button');
    if (a.href) node.href = a.href;
    else node.type = 'button';
    if (a.do) node.addEventListener('click', a.do);
    if (a.off) node.disabled = true;
    node.className = a.quiet ? 'quiet' : 'strong';
    node.dataset.action = a.key;
    node.textContent = say(a.key, a.values);
    return node;
  }));
  if (held) (box.firstElementChild || $('outcome')).focus();
}
