// The console: it asks for what there is to see while somebody looks, says what
// changed, and turns switches.

import { forgetToken, keepToken, operator, readToken, takeToken, token } from './api.js';
import * as board from './board.js';
import { ServerClock } from './clock.js';
import { $, show, text } from './dom.js';
import { Flipping } from './flip.js';
import { Poll } from './poll.js';
import { isOver, render as renderSales } from './sales.js';
import { change, current, say } from './text.js';

const EVERY = 1500; // milliseconds between two looks at the same thing
const DETAIL = 2000; // of one sale, and at least APART for each sale there is
const APART = 100;
const REST = 60000; // of a sale that is over

const clock = new ServerClock();
let denied = ''; // the text that says why somebody has to sign in
let titles = new Map();

const poll = new Poll({ changed, denied: signedOut, language: current });
const flipping = new Flipping({
  switches: () => poll.of('switches'),
  sales: () => (poll.of('sales').data?.sales || []).filter((s) => !isOver(s)),
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

const signedIn = () => token() !== '' && denied === '';

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
  const what = { switches: 'switches', sales: 'sales', node: 'node', limits: 'limits' }[source.name];
  if (what && !before.trouble !== !source.trouble) announce(say(source.trouble ? 'say.away' : 'say.back', { what: say(what) }));
  if (source.data !== before.data && source.data) news[source.name]?.(source, before.data);
  if (source.name.startsWith('sale/') && !source.trouble) clock.sync(Date.parse(source.data.server_time), source.sent, source.at);
  render();
}

// news are what to tell of, by part.
const news = {
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

// follow asks for each sale that is looked at; the more there are, the less often.
function follow(sales) {
  const watched = sales.filter((s) => !isOver(s) || $('over').open);
  const every = Math.max(DETAIL, APART * watched.length);
  const wanted = new Set(watched.map((s) => 'sale/' + s.id));
  for (const name of poll.names()) if (name.startsWith('sale/') && !wanted.has(name)) poll.drop(name);
  for (const s of watched) {
    const name = 'sale/' + s.id;
    poll.add(name, { path: '/api/v1/admin/sales/' + encodeURIComponent(s.id), every });
    poll.pace(name, isOver(s) ? REST : every);
  }
}

function render() {
  const known = token() !== '' || ['switches', 'sales', 'node', 'limits'].some((name) => poll.of(name).data);
  const away = poll.of('switches').trouble || poll.of('node').trouble || poll.of('sales').trouble;
  $('main').dataset.state = !signedIn() ? 'signed-out' : away ? 'away' : 'live';
  show($('sign-in'), !signedIn());
  show($('board'), known);
  show($('leave'), token() !== '');
  show($('who'), token() !== '');
  text($('who'), operator() ? say('who', { who: operator() }) : say('who.unknown'));
  text($('denied'), denied ? say(denied) : '');
  for (const id of ['switches', 'sales', 'node', 'limits']) board.fresh(id, poll.of(id), signedIn());
  board.sum(poll.of('switches'), titles, signedIn());
  board.switches(poll.of('switches'), titles, (asked) => flipping.open(asked));
  board.node(poll.of('node'));
  board.limits(poll.of('limits'));
  renderSales(poll.of('sales'), (id) => poll.of('sale/' + id), clock.now());
}

function translate() {
  document.documentElement.lang = current() === 'zh' ? 'zh-CN' : 'en';
  for (const node of document.querySelectorAll('[data-say]')) text(node, say(node.dataset.say));
  text($('language'), say('language'));
  $('language').setAttribute('aria-label', say('language.name'));
  $('language').lang = current() === 'zh' ? 'en' : 'zh-CN';
  flipping.translate();
  render();
}

// signedOut ends what is asked for. What was seen stays, and says how old it is.
function signedOut(refusal) {
  poll.stop();
  forgetToken();
  denied = 'denied.' + (refusal.status === 403 ? '403' : '401');
  render();
  if (!$('flip').open) $('token').focus();
}

function signIn(pasted) {
  const given = readToken(pasted);
  poll.stop();
  if (given === '') {
    denied = 'token.odd';
    return render();
  }
  keepToken(given);
  denied = '';
  start();
}

function start() {
  poll.add('node', { path: '/readyz', every: EVERY, accept: board.notReady });
  poll.add('switches', { path: '/api/v1/admin/switches', every: EVERY });
  poll.add('sales', { path: '/api/v1/sales', every: EVERY });
  poll.add('limits', { path: '/api/v1/admin/limits', every: EVERY });
  poll.start();
  render();
}

// fromAddress signs in with a token of the address.
function fromAddress() {
  const given = takeToken();
  if (given !== '') signIn(given);
  return given !== '';
}

$('sign-in-form').addEventListener('submit', (e) => {
  e.preventDefault();
  const pasted = $('token').value;
  $('token').value = '';
  signIn(pasted);
});
$('leave').addEventListener('click', () => {
  poll.stop();
  forgetToken();
  for (const name of poll.names()) poll.drop(name);
  denied = '';
  show($('done'), false);
  announce(say('left'));
  render();
  $('token').focus();
});
$('language').addEventListener('click', () => {
  change();
  translate();
});
$('flip-any').addEventListener('click', () => flipping.open());
$('over').addEventListener('toggle', () => {
  follow(poll.of('sales').data?.sales || []);
  render();
});
addEventListener('hashchange', fromAddress);

translate();
if (!fromAddress() && token()) start();
setInterval(render, 1000);
