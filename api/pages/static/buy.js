// One buyer's attempt to buy, from the press of the button to the end of the
// order. It tells show() what to show, and is busy while a press would be wrong.

import { call, forgetToken, Lost, pause, Refusal, token } from './api.js';
import { Intents } from './intent.js';
import { follow, giveUp, over, payAt } from './order.js';
import { current } from './text.js';

const TRIES = 6; // silent repeats of an attempt that got no answer
const TICKETS = 2; // further tickets that an attempt may ask for
const CALM = ['not_eligible', 'forbidden', 'invalid_request', 'sku_not_found', 'sale_not_found', 'tickets_gone'];

// ticketless gives the code for the buyer: asking for a ticket has refusals of its own.
const ticketless = (no) => (!no.ticket ? no.code : no.code === 'sold_out' ? 'tickets_gone' : no.code === 'invalid_request' ? 'ticket_required' : no.code);

export class Buying {
  busy = false;
  order = null; // a live one, or one that is over and allows no other
  heldUntil = 0; // performance.now() before which no press makes sense
  #sale;
  #intents;
  #show;
  #early;
  #told;
  #tickets;
  #run = 0; // a newer run ends the older ones

  // show(outcome) shows; early(refusal) takes in that the sale opens later, and
  // told(code, intent) what else a refusal says of the sale.
  constructor(sale, tickets, { show, early, told }) {
    this.#sale = sale;
    this.#intents = new Intents(sale);
    this.#show = show;
    this.#early = early;
    this.#told = told;
    this.#tickets = tickets;
  }

  // refusedEarly takes in why there will be no ticket, before anything was pressed.
  refusedEarly(no) {
    const code = ticketless(no);
    if (!['tickets_gone', 'not_eligible', 'unauthenticated'].includes(code)) return; // pressing asks again
    if (code === 'unauthenticated') forgetToken();
    this.#show({ key: code, tone: 'calm' });
  }

  // resume goes on where this browser was: an order is followed, an attempt
  // without an answer is asked for again, under its key.
  async resume() {
    const intent = this.#intents.get();
    if (!token() || !intent) return;
    if (intent.order) return this.#follow(intent.order);
    if (!intent.pending) return;
    this.busy = true;
    this.#show({ key: 'finding', tone: 'wait' });
    await pause(50, 300);
    await this.#attempt({ ...intent, doubt: true });
  }

  async press(sku, quantity) {
    if (this.busy || this.order || performance.now() < this.heldUntil) return;
    this.busy = true;
    this.#show({ key: 'sending', tone: 'wait' });
    await this.#attempt(this.#intents.begin(sku, quantity));
  }

  // #attempt sends until there is an answer. Once one try got none, only an
  // answer about the order itself settles it: that we are busy does not.
  async #attempt(intent) {
    let unanswered = intent.doubt ? 1 : 0;
    let tickets = 0;
    for (let tries = 1; ; tries++) {
      try {
        return this.#accepted(intent, (await this.#send(intent, unanswered > 0)).body);
      } catch (e) {
        if (e instanceof Lost) {
          if (!e.ticket) unanswered++;
          if (tries >= TRIES) return this.#stuck(intent);
          this.#show({ key: 'lost', tone: 'bad' });
          await pause(Math.min(8000, 500 * 2 ** tries));
        } else if (!(e instanceof Refusal)) {
          this.busy = false;
          throw e;
        } else if (e.code === 'in_progress' || (unanswered && e.retryAfter && e.code !== 'too_early')) {
          await pause(Math.max(1000, e.retryAfter));
        } else if (e.code.startsWith('ticket_') && !e.ticket && tickets < TICKETS) {
          tickets++;
          this.#tickets.refused();
        } else {
          return this.#refused(intent, e);
        }
      }
    }
  }

  async #send(intent, doubt) {
    const headers = { 'Idempotency-Key': intent.key };
    const ticket = await this.#ticket(doubt);
    if (ticket) headers['Purchase-Ticket'] = ticket;
    return call('POST', `/api/v1/sales/${this.#sale}/purchases`, {
      headers, body: { sku: intent.sku, quantity: intent.quantity }, language: current(),
    });
  }

  // #ticket gives a ticket, '' where none is needed, or where the answer to the
  // purchase says more: that it is too early or over, or which order there is.
  async #ticket(doubt) {
    if (!this.#tickets.needed) return '';
    if (!this.#tickets.ready && !doubt) this.#show({ key: 'ticket', tone: 'wait' });
    try {
      return await this.#tickets.get(() => this.#show({ key: 'proof', tone: 'wait' }));
    } catch (e) {
      if (e instanceof Refusal && (['not_found', 'too_early', 'sale_ended'].includes(e.code) || doubt && !e.retryAfter)) return '';
      e.ticket = true;
      throw e;
    }
  }

  #stuck(intent) {
    const again = () => {
      this.#show({ key: 'sending', tone: 'wait' });
      this.#attempt({ ...intent, doubt: true });
    };
    this.#show({ key: 'lost.stopped', title: 'lost', tone: 'bad', actions: [{ key: 'again', do: again }] });
  }

  #accepted(intent, answer) {
    this.#intents.put({ ...intent, pending: false, order: answer.order_id });
    this.#tickets.drop();
    return this.#follow(answer.order_id, answer);
  }

  #refused(intent, no) {
    this.busy = false;
    if (no.code === 'unauthenticated') {
      forgetToken(); // the intent stays: the buyer may come back signed in
    } else if (no.retryAfter && intent.key) {
      this.#intents.put({ ...intent, pending: false });
    } else {
      this.#intents.drop();
    }
    const code = ticketless(no);
    if (code === 'too_early') this.#early(no);
    else this.heldUntil = performance.now() + no.retryAfter;
    this.#told(code, intent);
    this.#show({
      key: code, text: no.detail, tone: CALM.includes(code) ? 'calm' : 'bad', passing: no.retryAfter > 0,
      values: { seconds: Math.max(1, Math.ceil(no.retryAfter / 1000)) },
    });
  }

  // #follow shows an order until it is over.
  #follow(id, first) {
    const run = ++this.#run;
    this.busy = true;
    this.order = { order_id: id, status: 'queued', lines: [] };
    if (first) this.#tell({ ...this.order, ...first, lines: [] }, false);
    const repeat = Boolean(first && first.repeat);
    return follow(id, {
      stopped: () => run !== this.#run,
      told: (order) => this.#tell(order, repeat),
      lost: () => this.#show({ key: 'lost.order', title: 'lost', tone: 'bad', order: this.order }),
      refused: (no) => {
        if (no.code === 'unauthenticated') forgetToken();
        else if (no.code === 'order_not_found') this.#release();
        this.busy = false;
        this.#show({ key: no.code, text: no.detail, tone: 'bad' });
      },
    });
  }

  #release() {
    this.order = null;
    this.#intents.drop();
  }

  // #tell shows an order. One that is over without being paid frees the button;
  // but if it is the answer to a new attempt, the sale allows no second one.
  #tell(order, repeat) {
    this.order = order;
    this.busy = !over(order);
    const key = order.status === 'rejected' ? 'rejected.' + order.reason
      : order.status === 'queued' && order.waiting_for && order.waiting_for !== 'recorder' ? 'queued.' + order.waiting_for
        : order.status;
    const ended = over(order) && order.status !== 'paid';
    if (ended && repeat && order.status !== 'rejected') {
      this.#show({ key: 'no_more', tone: 'calm', order });
      return;
    }
    if (ended) this.#release();
    this.#show({
      key, title: order.status, text: order.detail || '', order,
      tone: order.status === 'placed' || order.status === 'paid' ? 'good' : order.status === 'queued' ? 'wait' : 'bad',
      actions: order.status === 'placed' ? this.#choices(order) : [],
    });
  }

  #choices(order) {
    return [
      { key: 'pay', do: () => this.#pay(order) },
      { key: 'cancel', quiet: true, do: () => this.#offer(order, [
        { key: 'cancel.keep', do: () => this.#offer(order, this.#choices(order)) },
        { key: 'cancel.sure', quiet: true, do: () => this.#cancel(order) },
      ]) },
    ];
  }

  #offer(order, actions, key = 'placed') {
    if (this.order && this.order.status === 'placed') this.#show({ key, title: 'placed', tone: 'good', order, actions });
  }

  #pay(order) {
    return this.#change(async () => {
      const places = await payAt(order.order_id);
      const links = places.map((p) => ({ key: 'pay.with', values: { name: p.name }, href: p.url }));
      this.#offer(order, [...links, ...this.#choices(order).slice(1)], places.length ? 'placed' : 'pay.none');
    }, order);
  }

  #cancel(order) {
    return this.#change(async () => {
      const told = await giveUp(order.order_id);
      this.#run++; // nothing more to follow
      this.#tell(told, false);
    }, order);
  }

  // #change does something to a placed order and shows what came of it.
  async #change(work, order) {
    this.#offer(order, this.#choices(order).map((a) => ({ ...a, off: true })));
    try {
      await work();
    } catch (e) {
      if (e instanceof Refusal && e.order) return this.#tell(e.order, false);
      if (e instanceof Refusal && e.code === 'unauthenticated') forgetToken();
      const key = e instanceof Refusal ? e.code : 'lost.order';
      const values = { seconds: Math.max(1, Math.ceil((e.retryAfter || 0) / 1000)) };
      this.#show({ key, title: e instanceof Refusal ? undefined : 'lost', text: e.detail, values, tone: 'bad', order, actions: this.#choices(order) });
    }
  }
}
