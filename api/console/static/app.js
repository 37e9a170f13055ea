// The console: it asks for what there is to see while somebody looks, says what
// changed, and turns switches.

import { forget, heard, Lost, operator, readPasted, Refusal, signedIn as askWho, signIn, signOut, takeGiven } from './api.js';
import { Acting } from './act.js';
import * as board from './board.js';
import { ServerClock } from './clock.js';
import { $, show, text } from './dom.js';
import { Flipping } from './flip.js';
import { MOST as LETTERS_MOST, render as renderLetters } from './letters.js';
import { Poll } from './poll.js';
import { isOver, render as renderSales } from './sales.js';
import { Search } from './search.js';
import * as stacks from './stacks.js';
import { Stream } from './stream.js';
import { change, current, say } from './text.js';
import * as watch from './watch.js';

const EVERY = 1500; // milliseconds between two looks at the same thing
const DETAIL = 2000; // of one sale, and at least APART for each sale there is
const APART = 100;
const REST = 60000; // of a sale that is over
const SELDOM = 5000; // of what changes seldom
const PAGE = 100; // sales that are shown at first, and added by each press of the button
const MOST = 500;
const TOGETHER = 200; // milliseconds in which answers are shown together

const clock = new ServerClock();
let settled = false; // whether it is known if somebody is signed in
let denied = ''; // the text that says why somebody has to sign in
let titles = new Map();
let many = PAGE;

const poll = new Poll({ changed, denied: signedOut, language: current });
const stream = new Stream({
  seen: (overview) => {
    watch.seen(overview).forEach(announce);
    if (poll.of('sales').data) follow(poll.of('sales').data.sales);
    renderSoon();
  },
  lost: () => renderSoon(),
  denied: signedOut,
  language: current,
});
const flipping = new Flipping({
  switches: () => poll.of('switches'),
  sales: () => (looked().data?.sales || []).filter((s) => !isOver(s)),
  titles: () => titles,
  alone: (work) => poll.alone(work),
  done: (sentence) => {
    text($('done'), sentence);
    show($('done'), true);
    announce(sentence);
    poll.soon('switches');
  },
  denied: signedOut,
});

const acting = new Acting({
  alone: (work) => poll.alone(work),
  done: (sentence, subject) => {
    announce(sentence);
    poll.soon('sales');
    poll.soon(subject.projection ? 'letters' : 'sale/' + subject.id);
  },
  denied: signedOut,
});
const search = new Search({ alone: (work) => poll.alone(work), denied: signedOut });

const signedIn = () => operator() !== '' && denied === '';

// announce tells screen readers what changed. What comes while something is being
// told is told after it.
let telling = [];

function announce(sentence) {
  if (telling.push(sentence) > 1) return;
  setTimeout(() => {
    text($('announce'), telling.join(' '));
    telling = [];
  }, 100);
}

// changed takes in an answer, or that there was none.
function changed(source, before) {
  const what = { switches: 'switches', sales: 'sales', node: 'node', limits: 'limits', letters: 'letters' }[source.name];
  if (what && !before.trouble !== !source.trouble) announce(say(source.trouble ? 'say.away' : 'say.back', { what: say(what) }));
  if (source.data !== before.data && source.data) news[source.name]?.(source, before.data);
  if (source.name.startsWith('sale/') && !source.trouble) clock.sync(Date.parse(source.data.server_time), source.sent, source.at);
  renderSoon();
}

// news are what to tell of, by part.
const news = {
  session(source) {
    const now = source.data.who;
    if (now === operator()) return;
    heard(now); // in another window of this browser
    announce(say('who', { who: now }));
  },
  switches(source, before) {
    if (!before) return;
    const old = new Map(before.switches.map((s) => [board.switchKey(s), s]));
    const now = new Map(source.data.switches.map((s) => [board.switchKey(s), s]));
    for (const key of new Set([...old.keys(), ...now.keys()])) {
      const [was, is] = [old.get(key), now.get(key)];
      const values = { name: board.named('switch', (is || was).name), scope: board.scope((is || was).sale, titles), by: is?.by || '', reason: is?.reason || '' };
      if (is?.on && (!was?.on || was.at !== is.at)) announce(say('say.on', values));
      if (was?.on && !is?.on) announce(say('say.off', values));
    }
  },
  sales(source, before) {
    const sales = source.data.sales;
    titles = new Map(sales.map((s) => [s.id, s.title]));
    if (sales.length > 0) clock.sync(Date.parse(sales[0].server_time), source.sent, source.at);
    follow(sales);
    for (const was of before?.sales || []) {
      const is = sales.find((s) => s.id === was.id);
      if (is && is.state !== was.state) announce(say('say.state', { title: is.title, state: board.named('state', is.state) }));
    }
  },
  node(source, before) {
    for (const c of source.data.checks || []) {
      const was = before?.checks?.find((b) => b.name === c.name);
      if (was && was.ready !== c.ready) announce(say(c.ready ? 'say.part.good' : 'say.part.bad', { part: board.named('part', c.name) }));
    }
  },
};

// older are the sales that sell now or next, of which the overview tells, and that were
// scheduled too long ago to be in the list.
function older(sales) {
  const listed = new Set(sales.map((s) => s.id));
  return (stream.source.data?.sales.sales || []).filter((s) => !listed.has(s.id));
}

// looked is the list of sales, with the older ones as far as they are known.
function looked() {
  const source = poll.of('sales');
  if (!source.data) return source;
  const more = older(source.data.sales).map((s) => poll.of('sale/' + s.id).data).filter(Boolean);
  return { ...source, data: { ...source.data, listed: source.data.sales.length, sales: [...source.data.sales, ...more] } };
}

// follow asks for each sale that is looked at; the more there are, the less often.
function follow(sales) {
  const watched = [...sales, ...older(sales)].filter((s) => !isOver(s) || $('over').open);
  for (const s of watched) titles.set(s.id, s.title);
  const every = Math.max(DETAIL, APART * watched.length);
  const wanted = new Set(watched.map((s) => 'sale/' + s.id));
  for (const name of poll.names()) if (name.startsWith('sale/') && !wanted.has(name)) poll.drop(name);
  for (const s of watched) {
    const name = 'sale/' + s.id;
    poll.add(name, { path: '/api/v1/admin/sales/' + encodeURIComponent(s.id), every, patience: 10 });
    poll.pace(name, isOver(s) ? REST : every);
  }
}

let rendering = null;

// renderSoon shows what came in, together with what else comes within a moment: with a
// hundred sales to draw, a page for every answer leaves no time to ask.
function renderSoon() {
  rendering ??= setTimeout(render, TOGETHER);
}

function render() {
  clearTimeout(rendering);
  rendering = null;
  const known = operator() !== '' || ['switches', 'sales', 'node', 'limits'].some((name) => poll.of(name).data);
  const away = poll.of('switches').trouble || poll.of('node').trouble || poll.of('sales').trouble;
  $('main').dataset.state = !signedIn() ? 'signed-out' : away ? 'away' : 'live';
  show($('sign-in'), settled && !signedIn());
  show($('board'), known);
  show($('leave'), signedIn());
  show($('who'), signedIn());
  text($('who'), say('who', { who: operator() }));
  text($('denied'), denied ? say(denied) : '');
  for (const id of ['switches', 'sales', 'node', 'limits', 'letters']) board.fresh(id, poll.of(id), signedIn());
  board.fresh('five', stream.source, signedIn());
  watch.render(stream.source);
  board.sum(poll.of('switches'), titles, signedIn());
  board.switches(poll.of('switches'), titles, (asked) => flipping.open(asked));
  board.node(poll.of('node'));
  board.limits(poll.of('limits'));
  renderSales(looked(), (id) => poll.of('sale/' + id), clock.now(), act);
  renderLetters(poll.of('letters'), act);
  show($('sales-more'), !$('sales-rest').hidden && many < MOST);
}

const act = (subject, actions) => acting.open(subject, actions);

function translate() {
  document.documentElement.lang = current() === 'zh' ? 'zh-CN' : 'en';
  for (const node of document.querySelectorAll('[data-say]')) text(node, say(node.dataset.say));
  text($('language'), say('language'));
  $('language').setAttribute('aria-label', say('language.name'));
  $('language').lang = current() === 'zh' ? 'en' : 'zh-CN';
  flipping.translate();
  acting.translate();
  search.translate();
  stacks.forget();
  render();
}

// signedOut ends what is asked for. What was seen stays, and says how old it is.
function signedOut(refusal) {
  poll.stop();
  stream.stop();
  forget();
  denied = 'denied.' + (refusal.status === 403 ? '403' : '401');
  render();
  if (!document.querySelector('dialog[open]')) $('token').focus();
}

// enter signs in, by what was given or else by the cookie that is there, and begins.
async function enter(given) {
  poll.stop();
  stream.stop();
  if (given?.token === '') {
    settled = true;
    denied = 'token.odd';
    return render();
  }
  try {
    await (given ? signIn(given, current()) : askWho(current()));
  } catch (e) {
    if (!(e instanceof Lost || e instanceof Refusal)) throw e;
    if (!given?.code || e.status !== 401 || !(await isIn())) return notIn(e, given);
  }
  settled = true;
  denied = '';
  start();
}

// isIn tells whether somebody is signed in all the same: who opens a link once more is by
// the first time.
async function isIn() {
  try {
    await askWho(current());
    return true;
  } catch (e) {
    if (!(e instanceof Lost || e instanceof Refusal)) throw e;
    return false;
  }
}

// notIn says why somebody is not signed in: who has not tried is only asked.
function notIn(e, given) {
  settled = true;
  forget();
  if (e instanceof Lost || e.status >= 500) denied = 'denied.lost';
  else if (given) denied = given.code ? 'denied.code' : 'denied.' + (e.status === 403 ? '403' : '401');
  else denied = '';
  render();
  $('token').focus();
}

const salesPath = () => '/api/v1/sales?limit=' + many;

function start() {
  poll.add('node', { path: '/readyz', every: EVERY, accept: board.notReady });
  poll.add('switches', { path: '/api/v1/admin/switches', every: EVERY });
  poll.add('sales', { path: salesPath(), every: EVERY });
  poll.add('letters', { path: '/api/v1/admin/dead-letters?limit=' + LETTERS_MOST, every: SELDOM });
  poll.add('session', { path: '/api/v1/admin/session', every: SELDOM });
  poll.add('limits', { path: '/api/v1/admin/limits', every: EVERY });
  poll.start();
  stream.start();
  render();
}

// fromAddress signs in with what the address gives.
function fromAddress() {
  const given = takeGiven();
  if (given) enter(given);
  return given !== null;
}

async function leave() {
  poll.stop();
  stream.stop();
  stream.source.data = null;
  watch.forget();
  search.forget();
  stacks.forget();
  for (const name of poll.names()) poll.drop(name);
  let sentence = 'left';
  try {
    await signOut(current());
  } catch (e) {
    if (!(e instanceof Lost || e instanceof Refusal)) throw e;
    sentence = 'left.not';
  }
  denied = sentence === 'left' ? '' : sentence;
  show($('done'), false);
  announce(say(sentence));
  render();
  $('token').focus();
}

$('sign-in-form').addEventListener('submit', (e) => {
  e.preventDefault();
  const pasted = $('token').value;
  $('token').value = '';
  enter(readPasted(pasted));
});
$('leave').addEventListener('click', leave);
$('language').addEventListener('click', () => {
  change();
  translate();
});
$('stacks').addEventListener('click', () => stacks.ask({ alone: (work) => poll.alone(work), denied: signedOut }));
$('flip-any').addEventListener('click', () => flipping.open());
$('sales-more').addEventListener('click', () => {
  many = Math.min(many + PAGE, MOST);
  poll.aim('sales', salesPath());
});
$('over').addEventListener('toggle', () => {
  follow(poll.of('sales').data?.sales || []);
  render();
});
addEventListener('hashchange', fromAddress);

translate();
if (!fromAddress()) enter(null);
setInterval(render, 1000);
