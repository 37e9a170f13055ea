// The five things to watch, and what belongs to them: from an overview to tiles of
// rows, each a number, what is said of it, whether it is good, and what is plotted.

import { named } from './board.js';
import { say } from './text.js';

// Over what something is worth a look (warn) or is wrong (bad). What is wrong is what an
// alert of deploy/prometheus stands on, at once and not after it has lasted; a test
// compares the two. No alert stands on collecting.
export const BOUNDS = {
  lag: { warn: 5, bad: 15 }, // seconds
  connections: { warn: 0.7, bad: 0.8 }, // of the most there may be
  wait: { warn: 0.5, bad: 1 }, // seconds waited for a pool, a second
  slow: { warn: 0, bad: 10 }, // slow commands a minute
  statements: { warn: 0, bad: 0 }, // slow ones now
  transaction: { warn: 5, bad: 15 }, // seconds
  pause: { warn: 0.005, bad: 0.01 }, // seconds of a collection's pause
  collecting: { warn: 0.25, bad: 0.5 }, // of the processor
};

const WORSE = ['', 'unknown', 'warn', 'bad'];

export const worst = (rows) => rows.reduce((w, r) => (WORSE.indexOf(r.state) > WORSE.indexOf(w) ? r.state : w), '');

const judge = (bound, value) => (value > bound.bad ? 'bad' : value > bound.warn ? 'warn' : '');
const known = (v) => v !== undefined && v !== null;

// count writes a number of three places or more.
export function count(v) {
  if (!known(v)) return '–';
  const places = Math.abs(v) >= 100 || Number.isInteger(v) ? 0 : Math.abs(v) >= 10 ? 1 : 2;
  return new Intl.NumberFormat('en', { maximumFractionDigits: places }).format(v);
}

const seconds = (v) => (!known(v) ? '–' : v > 0 && v < 1 ? say('five.ms', { n: count(v * 1000) }) : say('five.s', { n: count(v) }));
const share = (v) => (known(v) ? say('five.percent', { n: count(v * 100) }) : '–');
const bytes = (v) => say('five.mb', { n: count(v / 1048576) });
const at = (database) => (database ? ` (${database})` : '');
const said = (...notes) => notes.filter(Boolean).join(' · ');

// unknown is the row of a part that nobody could tell of.
const unknown = (seen, key) => (seen.unknown_since
  ? [{ key: 'unknown' + key, label: say('five.unknown') + key, value: '–', note: say('five.unknown_since', { n: Math.max(0, Math.round((Date.now() - Date.parse(seen.unknown_since)) / 1000)) }), state: 'unknown' }]
  : []);

function purchases({ purchases: p }) {
  const baseline = p.baseline ? say('five.baseline', { share: share(p.share_of_baseline), rate: share(p.baseline.rate) }) : say('five.no_baseline');
  return [
    { key: 'rate', label: say('five.rate'), value: share(p.success_rate), note: baseline, state: p.alarm ? 'bad' : '', number: p.success_rate, top: 1 },
    { key: 'answered', label: say('five.answered', { n: count(p.window_seconds) }), value: count(p.answered), note: p.failed ? say('five.failed', { n: count(p.failed) }) : '', state: '', number: p.answered },
  ];
}

const OUTCOMES = ['reserved', 'sold_out', 'limit', 'early', 'repeat', 'other', 'errors'];

const gate = ({ purchases: p }) => OUTCOMES.map((name) => ({
  key: name, label: named('outcome', name), value: say('five.per_second', { n: count(p.per_second[name]) }), note: '', number: p.per_second[name],
  state: name === 'errors' && p.per_second.errors > 0 ? 'warn' : '',
}));

function stock({ sales }) {
  const rows = sales.sales.flatMap((s) => s.items.map((i) => ({
    key: s.id + '/' + i.sku, label: `${s.title} · ${i.sku}`, value: count(i.left), number: i.left, top: i.released,
    note: said(named('state', s.state), known(i.released) && say('five.of', { n: count(i.released) }), i.by === 'log' && say('five.by_log')),
    state: known(i.left) ? '' : 'unknown',
  })));
  if (sales.more > 0) rows.push({ key: 'more', label: say('five.more', { n: sales.more }), value: '', note: '', state: '' });
  return [...unknown(sales, ''), ...rows];
}

function backlog({ backlog: stages }) {
  return stages.map((s) => {
    const grows = known(s.growth_per_second) ? say('five.grows', { n: (s.growth_per_second > 0 ? '+' : '') + count(s.growth_per_second) }) : '';
    const parked = s.parked > 0 ? say('five.parked', { n: s.parked, age: seconds(s.parked_seconds) }) : '';
    let state = judge(BOUNDS.lag, s.lag_seconds || 0);
    if (!known(s.waiting)) state = 'unknown';
    if (s.parked > 0) state = 'bad';
    return {
      key: s.stage + at(s.database), label: named('stage', s.stage) + at(s.database), number: s.waiting, state,
      value: (s.at_most ? '≤ ' : '') + say('five.unit.' + s.unit, { n: count(s.waiting) }),
      note: said(grows, known(s.lag_seconds) && say('five.lag', { s: seconds(s.lag_seconds) }), known(s.orders) && s.orders > 0 && say('five.orders', { n: count(s.orders) }), parked),
    };
  });
}

const pools = (list) => list.map((p) => ({
  key: 'pool ' + p.pool, label: named('pool', p.pool), value: say('five.in_use', { n: p.in_use }), number: p.in_use,
  note: said(say('five.idle', { n: p.idle }), p.wait_per_second > 0 && say('five.waits', { n: count(p.wait_per_second) })), state: judge(BOUNDS.wait, p.wait_per_second),
}));

function redis({ redis: r }) {
  const servers = r.servers.map((s) => ({
    key: s.server, label: say('five.clients', { server: s.server }), value: count(s.connected_clients), number: s.connected_clients,
    note: said(s.max_clients > 0 && say('five.of', { n: count(s.max_clients) }), s.slow_log_hidden && say('five.hidden')),
    state: !known(s.connected_clients) ? 'unknown' : s.max_clients > 0 ? judge(BOUNDS.connections, s.connected_clients / s.max_clients) : '',
  }));
  const slow = { key: 'slow', label: say('five.slow_log'), value: say('five.per_minute', { n: count(r.slow_per_minute) }), number: r.slow_per_minute, state: judge(BOUNDS.slow, r.slow_per_minute || 0),
    note: r.slow.slice(0, 3).map((c) => `${c.command} ${seconds(c.seconds)}`).join(', ') };
  return [...unknown(r, ''), ...servers, slow, ...pools(r.pools)];
}

function postgres({ postgres: databases }) {
  return databases.flatMap((d) => {
    const of = at(d.database);
    const c = d.connections;
    const sessions = c ? [{
      key: 'connections' + of, label: say('five.active') + of, value: count(c.active), number: c.active, state: judge(BOUNDS.connections, (c.active + c.idle + c.idle_in_transaction + c.other) / c.max),
      note: said(say('five.idle', { n: c.idle }), c.idle_in_transaction > 0 && say('five.in_transaction', { n: c.idle_in_transaction }), c.waiting_for_locks > 0 && say('five.locks', { n: c.waiting_for_locks }), say('five.of', { n: c.max })),
    }] : [];
    const slow = known(d.slow_statements) ? [{
      key: 'slow' + of, label: say('five.slow_statements', { s: seconds(d.slow_over_seconds) }) + of, value: count(d.slow_statements), number: d.slow_statements, state: judge(BOUNDS.statements, d.slow_statements),
      note: d.statements.slice(0, 1).map((s) => said(seconds(s.seconds), s.application, s.wait, (s.query || '').slice(0, 120))).join(''),
    }] : [];
    const oldest = known(d.oldest_transaction_seconds) ? [{
      key: 'oldest' + of, label: say('five.oldest') + of, value: seconds(d.oldest_transaction_seconds), number: d.oldest_transaction_seconds, note: '', state: judge(BOUNDS.transaction, d.oldest_transaction_seconds),
    }] : [];
    return [...unknown(d, of), ...sessions, ...slow, ...oldest, ...pools(d.pools).map((p) => ({ ...p, key: p.key + of, label: p.label + of }))];
  });
}

const runtime = ({ process: p }) => [
  { key: 'pause', label: say('five.pause'), value: seconds(p.gc_pause_p99_seconds), number: p.gc_pause_p99_seconds, note: said(say('five.longest', { s: seconds(p.gc_pause_longest_seconds) }), say('five.collections', { n: count(p.gc_per_minute) })), state: judge(BOUNDS.pause, p.gc_pause_p99_seconds) },
  { key: 'heap', label: say('five.heap'), value: bytes(p.heap_bytes), number: p.heap_bytes, note: say('five.goal', { mb: bytes(p.heap_goal_bytes) }), state: '' },
  { key: 'collecting', label: say('five.collecting'), value: share(p.gc_cpu_share), number: p.gc_cpu_share, note: '', state: judge(BOUNDS.collecting, p.gc_cpu_share) },
  { key: 'goroutines', label: say('five.goroutines'), value: count(p.goroutines), number: p.goroutines, note: '', state: '' },
];

function drift({ drift: d }) {
  const kinds = Object.entries(d.findings || {}).filter(([, n]) => n > 0);
  const found = kinds.reduce((sum, [, n]) => sum + n, 0);
  const checked = d.checked_at ? [{
    key: 'findings', label: say('five.findings'), value: count(found), number: found, state: found > 0 ? 'bad' : d.not_compared > 0 ? 'warn' : '',
    note: said(kinds.map(([kind, n]) => `${named('finding', kind)} (${kind}): ${n}`).join(', '), say('five.compared', { n: Math.max(0, Math.round((Date.now() - Date.parse(d.checked_at)) / 1000)) }), d.not_compared > 0 && say('five.not_compared', { n: d.not_compared })),
  }] : [{ key: 'elsewhere', label: say('five.findings'), value: '–', note: say('five.elsewhere'), state: '' }];
  const paused = { key: 'paused', label: say('five.paused'), value: count(d.paused_sales.length), number: d.paused_sales.length, note: d.paused_sales.join(', '), state: d.paused_sales.length > 0 ? 'bad' : '' };
  return [...unknown(d, ''), paused, ...checked];
}

const TILES = { purchases, gate, stock, backlog, redis, postgres, runtime, drift };

// tiles are what an overview says, in the order of looking.
export const tiles = (overview) => Object.entries(TILES).map(([key, rowsOf]) => {
  const rows = rowsOf(overview);
  return { key, rows, state: worst(rows) };
});
