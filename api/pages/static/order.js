// An order that was accepted: following it, paying it, giving it up.

import { call, Lost, pause, Refusal } from './api.js';
import { current } from './text.js';

const SLOWEST = 10000; // milliseconds between looks at an order that stands still
const OVER = ['paid', 'cancelled', 'expired', 'rejected'];

export const over = (order) => OVER.includes(order.status);

const pathOf = (id) => '/api/v1/orders/' + encodeURIComponent(id);

// follow asks for an order until it is over, the server will not tell, or
// stopped() says so. Each look waits at the server for news; between looks there
// is a growing pause with a random part.
export async function follow(id, { told, lost, refused, stopped }) {
  let after = 0;
  let calm = 200;
  while (!stopped()) {
    try {
      const order = (await call('GET', `${pathOf(id)}?wait=5s&after=${after}`, { language: current() })).body;
      if (stopped()) return;
      calm = order.version > after ? 200 : Math.min(SLOWEST, calm * 1.7);
      after = Math.max(after, order.version);
      told(order);
      if (over(order)) return;
      await pause(calm);
    } catch (e) {
      calm = Math.min(SLOWEST, Math.max(500, calm * 2));
      if (e instanceof Lost) lost();
      else if (!(e instanceof Refusal)) throw e;
      else if (!e.retryAfter) return refused(e);
      await pause(Math.max(calm, e.retryAfter || 0));
    }
  }
}

// payAt gives the places where an order can be paid.
export async function payAt(id) {
  const { providers } = (await call('POST', pathOf(id) + '/payment', { body: {}, language: current() })).body;
  return providers.filter((p) => /^https?:\/\//.test(p.url));
}

export async function giveUp(id) {
  return (await call('POST', pathOf(id) + '/cancellation', { body: {}, language: current() })).body;
}
