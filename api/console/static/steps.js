// What a step of a story says, in the language of the page: by the event's type and
// what it holds, or the sentence that came with it where nothing is known of the type.

import { has, say } from './text.js';
import { told } from './told.js';

// utc writes a time as logs and the command line do, with all its places.
export const utc = (at) => (at.endsWith('Z') ? at : new Date(at).toISOString()).replace('T', ' ');

const money = (m) => (m ? `${m.amount} ${m.currency}` : '');

export function sayStep(s) {
  const key = 'step.' + (s.type || (s.clock === 'gate' ? 'accepted' : ''));
  const e = s.payload || {};
  if (!has(key) || (s.type && (!s.payload || 'base64' in s.payload))) return told(s.says);
  if (!s.type && !s.entry) return say('step.accepted.log');
  const note = [e.by, e.note || e.detail, e.restock === false && say('step.written_off')].filter(Boolean).join('; ');
  return say(key, {
    entry: s.entry, units: (e.lines || []).map((l) => `${l.quantity} × ${l.sku}`).join(', '), amount: money(e.amount), by: e.pay_by && utc(e.pay_by),
    payment: e.payment_id, reason: e.reason, note: note && ` (${note})`, n: e.quantity, sku: e.sku, bucket: e.bucket,
  });
}
