// Purchase tickets, for sales that ask for one, and the proof of work that the
// server may want for a ticket. A ticket that the server gave is kept for the
// window, so that a reload asks for no other.

import { buyer, call, Refusal, token } from './api.js';
import { search } from './puzzle.js';
import { current } from './text.js';

const EARLIEST = 540000; // milliseconds before the opening; tickets are given out from ten minutes
const PROOF_EARLIEST = 200000; // a puzzle is good for five minutes
const LATEST = 20000; // before the opening: the last seconds are for the clock
const PROOF_LIFE = 280000;
const MARGIN = 2000; // a ticket that is over so soon is over

export class Tickets {
  #sale;
  #needs; // '', 'ticket', or 'proof' where a ticket wants a proof of work
  #now; // the server's time, NaN while it is not known
  #solution = null; // {text, until} by performance.now(): until then it may be sent
  #working = null; // the solution that is being found
  #held = null; // {ticket, expires, buyer}

  constructor(sale, needs, now) {
    this.#sale = sale;
    this.#needs = needs;
    this.#now = now;
  }

  get needed() {
    return this.#needs !== '';
  }

  get ready() {
    return this.#kept() !== '';
  }

  // refused takes in that a purchase without a ticket, or with this one, was not
  // accepted for that.
  refused() {
    this.drop();
    this.#needs = this.#needs || 'ticket';
  }

  // moment gives when to prepare, in milliseconds before the opening, at random so
  // that a crowd does not ask at once; NaN where there is nothing to prepare.
  moment(left) {
    if (!this.needed || !token() || this.#kept()) return NaN;
    const earliest = Math.min(left, this.#needs === 'proof' ? PROOF_EARLIEST : EARLIEST);
    return LATEST + Math.random() * Math.max(0, earliest - LATEST);
  }

  // prepare makes one call before the opening: for the ticket, or for the puzzle
  // whose solution gives it then. A Refusal says why there will be none.
  async prepare() {
    if (this.#needs === 'proof') await this.#puzzle();
    else await this.#ask({});
  }

  // get gives a ticket that is good; onWork() is called before a puzzle is solved.
  async get(onWork) {
    if (this.#kept()) return this.#kept();
    for (let tries = 1; ; tries++) {
      let body = {};
      if (this.#needs === 'proof') {
        if (!this.#working && !this.#fresh()) await this.#puzzle();
        if (this.#working) onWork();
        await this.#working;
        body = { solution: this.#fresh() };
      }
      try {
        return await this.#ask(body);
      } catch (e) {
        this.#solution = null;
        if (!(e instanceof Refusal) || e.code !== 'invalid_request' || tries > 2) throw e;
        this.#needs = 'proof'; // it was asked for all the same, or came too late
      }
    }
  }

  // drop forgets a ticket that was refused or used.
  drop() {
    try {
      sessionStorage.removeItem(this.#name());
    } catch {
      // a browser that keeps nothing
    }
    this.#held = null;
  }

  #name = () => `seckill.ticket.${this.#sale}.${buyer()}`;

  #kept() {
    let held = this.#held;
    try {
      held = JSON.parse(sessionStorage.getItem(this.#name())) || held;
    } catch {
      // as above
    }
    if (!held || held.buyer !== buyer()) return '';
    return Date.parse(held.expires) - this.#now() < MARGIN ? '' : held.ticket;
  }

  async #ask(body) {
    const given = (await call('POST', `/api/v1/sales/${this.#sale}/tickets`, { body, language: current() })).body;
    this.#held = { ticket: given.ticket, expires: given.expires_at, buyer: buyer() };
    try {
      sessionStorage.setItem(this.#name(), JSON.stringify(this.#held));
    } catch {
      // as above
    }
    return given.ticket;
  }

  #fresh() {
    return this.#solution && this.#solution.until > performance.now() ? this.#solution.text : '';
  }

  // #puzzle asks for a puzzle and begins to solve it.
  async #puzzle() {
    const puzzle = (await call('GET', `/api/v1/sales/${this.#sale}/challenge`, { language: current() })).body;
    const until = performance.now() + PROOF_LIFE;
    this.#working = solve(puzzle).then((number) => {
      this.#solution = { text: btoa(JSON.stringify({ ...puzzle, number })), until };
      this.#working = null;
    });
  }
}

// solve finds the number in a worker; in slices of some milliseconds here where the
// browser gives none.
function solve(puzzle) {
  return new Promise((found) => {
    let worker = null;
    const here = () => {
      const more = search(puzzle);
      const slice = () => {
        const number = more(2000);
        if (number === null) setTimeout(slice);
        else found(number);
      };
      slice();
    };
    try {
      worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
    } catch {
      return here();
    }
    worker.onmessage = ({ data }) => {
      worker.terminate();
      found(data);
    };
    worker.onerror = (e) => {
      e.preventDefault();
      worker.terminate();
      here();
    };
    worker.postMessage(puzzle);
  });
}
