// What came of an action, as lists: differences of a preheat, findings of a
// reconciliation, where an item stands now, events that are set aside.

import { named } from './board.js';
import { el } from './dom.js';
import { say } from './text.js';
import { told } from './told.js';

const MOST = 200;

const list = (lines) => (lines.length ? [el('ul', {}, ...lines.slice(0, MOST).map((line) => el('li', {}, line)))] : []);
const more = (lines) => (lines.length > MOST ? [el('p', { class: 'note' }, say('report.more', { n: lines.length - MOST }))] : []);
const lines = (all) => [...list(all), ...more(all)];
const p = (sentence) => el('p', {}, sentence);

function preheat(answer) {
  const differ = answer.differences.map((d) => say('report.differs', { key: d.key, want: d.want || '–', got: d.got || '–' }));
  return [p(say(answer.verified ? 'report.verified' : 'report.not_verified', { n: differ.length, keys: answer.keys })), ...lines(differ)];
}

// kind says what a finding is, and its name, under which the runbook has it.
const kind = (f) => `${named('finding', f.kind)} (${f.kind})`;

function reconcile(answer) {
  const sales = answer.sales;
  const all = sales.flatMap((s) => s.findings).map((f) => [kind(f), f.sku, f.order_id, f.buyer_id, told(f.detail), f.cause && say('report.cause', { cause: told(f.cause) }), f.repair && say('report.repair', { repair: told(f.repair) })].filter(Boolean).join(' · '));
  const done = sales.flatMap((s) => s.repairs || []).map((r) => [kind(r), r.sku, r.order_id, r.buyer_id, told(r.detail), say(r.done ? 'report.done' : 'report.not_done')].filter(Boolean).join(' · '));
  const books = sales.map((s) => say('report.books', { released: s.released, available: s.available, reserved: s.reserved, returned: s.returned, flight: s.in_flight }));
  const notes = sales.filter((s) => s.note).map((s) => told(s.note));
  return [...books.map(p), ...notes.map(p), p(say(all.length ? 'report.findings' : 'report.clean', { n: all.length })), ...lines(all), ...(done.length ? [p(say('report.repaired', { n: done.length }))] : []), ...lines(done)];
}

const stock = (answer) => [p(say('report.stock', { released: answer.released, available: answer.available }))];

const letters = (answer) => lines(answer.letters.map((l) => [l.position, l.type, l.reason, l.note].filter(Boolean).join(' · ')));
const retried = (answer) => lines(answer.sequences.map((s) => say(s.ok ? 'report.goes_on' : 'report.stays', { projection: s.projection, n: s.applied, detail: s.detail })));

// found gives what is to be shown of an answer.
export function found(action, answer) {
  const shown = { preheat, verify: preheat, reconcile, repair: reconcile, release: stock, withdraw: stock, show: letters, retry: retried }[action];
  return shown ? shown(answer) : [];
}
