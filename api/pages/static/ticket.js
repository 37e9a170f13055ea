// Purchase tickets, for sales that ask for one, and the proof of work that the
// server may want for a ticket.

import { call, Refusal } from './api.js';

export async function getTicket(sale, language) {
  const path = `/api/v1/sales/${sale}/tickets`;
  try {
    return (await call('POST', path, { body: {}, language })).body.ticket;
  } catch (e) {
    if (!(e instanceof Refusal) || !['ticket_required', 'ticket_invalid', 'invalid_request'].includes(e.code)) throw e;
  }
  const puzzle = (await call('GET', `/api/v1/sales/${sale}/challenge`, { language })).body;
  const solution = btoa(JSON.stringify({ ...puzzle, number: await solve(puzzle) }));
  return (await call('POST', path, { body: { solution }, language })).body.ticket;
}

// solve finds the number, some hundreds at a time so that the page stays alive.
async function solve({ salt, challenge, maxnumber }) {
  const text = new TextEncoder();
  const batch = 256;
  for (let from = 0; from <= maxnumber; from += batch) {
    const sums = await Promise.all(Array.from({ length: batch }, (_, i) =>
      crypto.subtle.digest('SHA-256', text.encode(salt + (from + i)))));
    const found = sums.findIndex((sum) => hex(sum) === challenge);
    if (found >= 0) return from + found;
  }
  throw new Error('the puzzle has no solution');
}

const hex = (sum) => Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, '0')).join('');
