// The buyer page: countdown by the server's clock, one button for each item, and
// what came of pressing it.

import { call, Lost, pause, Refusal, takeToken, token } from './api.js';
import { Buying } from './buy.js';
import { ServerClock } from './clock.js';
import { change, current, say } from './text.js';
import { Tickets } from './ticket.js';
import * as view from './view.js';

const EARLY_CALLS = 2; // before the sale opens a page asks the API so often, at most
const FRESH = 60000; // a clock that was set longer ago is set once more before the opening
const SLEEP = 2000; // milliseconds by which the device's clock went ahead

const clock = new ServerClock();
let sale = view.facts();
let ownClock = false; // the server did not answer: by the clock of this device
let calls = 0; // before the opening
let late = false; // its time has come, and it waits for somebody to open it
let closedUntil = 0; // performance.now(); the server said that it is too early
let outcome = null;
let focusNext = false;

const now = () => (clock.known ? clock.now() : ownClock ? Date.now() : NaN);
const untilOpen = () => Math.max(Date.parse(sale.clickable_at) - now(), closedUntil - performance.now());

const tickets = new Tickets(sale.id, sale.needs, now);
const buying = new Buying(sale.id, tickets, {
  show: (o) => {
    outcome = o;
    render();
    if (focusNext) view.focusOutcome();
    focusNext = false;
  },
  early: (no) => {
    closedUntil = performance.now() + no.retryAfter;
    if (!no.opensAt) return;
    sale = { ...sale, opens_at: no.opensAt, clickable_at: no.opensAt };
    const at = performance.now();
    clock.sync(Date.parse(no.opensAt) - no.retryAfter, at, at);
  },
  told: (code, intent) => {
    if (code === 'sale_ended' || code === 'paused') sale = { ...sale, state: code === 'paused' ? 'paused' : 'ended' };
    if (code !== 'sold_out' || intent.quantity > 1) return;
    sale = { ...sale, items: sale.items.map((i) => (i.sku === intent.sku ? { ...i, sold_out: true } : i)) };
  },
});

// phase is what the countdown counts to.
function phase() {
  if (sale.state === 'ended' || sale.state === 'cleaned' || now() >= Date.parse(sale.closes_at)) return 'ended';
  const ms = untilOpen();
  if (Number.isNaN(ms)) return 'wait';
  if (ms > 0) return clock.known ? 'scheduled' : 'own';
  return late ? 'late' : 'open';
}

// lock says why an item cannot be bought now, '' when it can.
function lock(item) {
  const at = phase();
  if (at === 'ended') return 'ended';
  if (buying.order) return 'done';
  if (buying.busy) return 'busy';
  if (item.sold_out) return 'sold_out';
  if (at !== 'open') return 'wait';
  if (sale.state === 'paused') return 'paused';
  if (!token()) return 'sign_in';
  return performance.now() < buying.heldUntil ? 'busy' : '';
}

function badge(at) {
  if (at === 'ended') return 'ended';
  if (at !== 'open') return at === 'wait' ? 'wait' : 'scheduled';
  if (sale.state === 'paused') return 'paused';
  return sale.items.every((i) => i.sold_out) ? 'sold_out' : 'open';
}

// standing is what there is to say before anybody pressed anything.
function standing(at) {
  if (at === 'ended') return { key: 'sale_ended' };
  if (!token()) return { key: 'unauthenticated' };
  if (at === 'open' && sale.state === 'paused') return { key: 'paused' };
  if (at === 'open' && sale.items.every((i) => i.sold_out)) return { key: 'sold_out' };
  return null;
}

function render() {
  const at = phase();
  view.sale(sale, lock);
  view.badge(badge(at));
  view.clock(at, at === 'open' ? Date.parse(sale.closes_at) - now() : untilOpen(), sale);
  view.outcome(outcome || standing(at));
  return at;
}

// milestones are told to screen readers: a ticking clock would drown all else.
const milestones = [[60000, 'say.minute'], [10000, 'say.seconds'], [0, 'say.open']];
let nearest = Infinity;

function milestone() {
  const ms = untilOpen();
  if (Number.isNaN(ms)) return;
  const passed = milestones.filter(([at]) => ms <= at && nearest > at);
  if (passed.length > 0 && nearest !== Infinity && !late) view.announce(say(passed.at(-1)[1]));
  nearest = ms;
}

// noticeSleep notices that this device slept: its clock went on, performance.now()
// did not. The server's time is asked for once more if that may be, else taken
// from the clock here; should it be wrong, the server says how long it is too early.
let last = { date: Date.now(), perf: performance.now() };

function noticeSleep() {
  const at = { date: Date.now(), perf: performance.now() };
  const slept = at.date - last.date - (at.perf - last.perf);
  last = at;
  if (slept < SLEEP || !clock.known || phase() !== 'scheduled') return;
  if (calls >= EARLY_CALLS) return clock.skip(slept);
  calls++;
  sync().catch(() => clock.skip(slept));
}

function tick() {
  const wasHeld = outcome && outcome.passing && performance.now() >= Math.max(buying.heldUntil, closedUntil);
  if (wasHeld) outcome = null; // the wait is over, the button is free
  noticeSleep();
  render();
  milestone();
  const ms = untilOpen();
  setTimeout(tick, ms > 0 && ms < 250 ? ms : 250);
}

// sync asks for the sale as it is now.
async function sync() {
  const answer = await call('GET', '/api/v1/sales/' + encodeURIComponent(sale.id), { signIn: false, language: current() });
  sale = answer.body;
  late = sale.state === 'scheduled' && Date.parse(sale.server_time) >= Date.parse(sale.clickable_at);
  clock.sync(Date.parse(sale.server_time), answer.sent, answer.got);
  render();
}

// prepare makes two calls at most before the opening: it asks for the sale at once,
// and then for a ticket where one is needed, or for the sale again where the opening
// is far enough for clocks to drift, or where the first call failed.
async function prepare() {
  while (calls < EARLY_CALLS && !clock.known) {
    calls++;
    try {
      await sync();
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      if (calls >= EARLY_CALLS) ownClock = true;
      else await pause(Math.max(2000, e.retryAfter || 0), 3000);
    }
  }
  const ticket = tickets.moment(untilOpen());
  if (Number.isNaN(ticket) && !(untilOpen() > FRESH)) return;
  await until(Number.isNaN(ticket) ? 5000 + Math.random() * 25000 : ticket);
  if (calls >= EARLY_CALLS || !(untilOpen() > 0)) return;
  calls++;
  try {
    await (Number.isNaN(ticket) ? sync() : tickets.prepare());
  } catch (e) {
    if (!(e instanceof Lost || e instanceof Refusal)) throw e;
    if (!Number.isNaN(ticket) && e instanceof Refusal) buying.refusedEarly(Object.assign(e, { ticket: true }));
  }
}

// until waits until so many milliseconds are left to the opening.
async function until(ms) {
  for (let more = untilOpen() - ms; more > 0; more = untilOpen() - ms) await pause(Math.min(more, 5000), 0);
}

// watch keeps state and sold-out marks fresh while the sale is open and somebody
// looks; the pauses grow, and shrink when something changed.
async function watch() {
  let calm = 3000;
  for (;;) {
    await pause(calm);
    const at = phase();
    if (at === 'ended' && clock.known) return;
    if (at === 'scheduled' || at === 'own' || document.hidden || buying.order) continue;
    const before = JSON.stringify([sale.version, sale.state, sale.items]);
    try {
      await sync();
      calm = JSON.stringify([sale.version, sale.state, sale.items]) === before ? Math.min(30000, calm * 1.5) : 3000;
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      calm = Math.min(30000, Math.max(calm * 2, e.retryAfter || 0));
    }
  }
}

view.wire({
  onBuy: (sku, quantity) => {
    if (lock(sale.items.find((i) => i.sku === sku) || {}) !== '') return;
    focusNext = true;
    outcome = null;
    buying.press(sku, quantity).catch(broken);
  },
  onLanguage: () => {
    change();
    render();
  },
});

function broken(e) {
  outcome = { key: 'internal', tone: 'bad' };
  render();
  console.error(e);
}

addEventListener('hashchange', () => {
  if (takeToken()) start();
});

function start() {
  outcome = null;
  render();
  buying.resume().catch(broken);
}

takeToken();
tick();
start();
prepare().then(watch).catch(broken);
