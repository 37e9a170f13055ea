// What a buyer means to buy in a sale, kept in this browser. Each intent has one
// key, made once: whatever gets lost on the way, a repeat under the key meets the
// same order.

import { buyer } from './api.js';

const nameOf = (sale) => `seckill.intent.${sale}.${buyer()}`;

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return 'page-' + Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

export class Intents {
  #sale;
  #memory = new Map(); // for a browser that keeps nothing

  constructor(sale) {
    this.#sale = sale;
  }

  get() {
    const name = nameOf(this.#sale);
    try {
      return JSON.parse(localStorage.getItem(name)) || this.#memory.get(name) || null;
    } catch {
      return this.#memory.get(name) || null;
    }
  }

  // begin gives the intent to buy this: the one there is, when it is the same and
  // became no order yet.
  begin(sku, quantity) {
    const old = this.get();
    const same = old && !old.order && old.sku === sku && old.quantity === quantity;
    return this.put({ key: same ? old.key : newKey(), sku, quantity, pending: true });
  }

  put(intent) {
    const name = nameOf(this.#sale);
    this.#memory.set(name, intent);
    try {
      localStorage.setItem(name, JSON.stringify(intent));
    } catch {
      // private windows may refuse; then it lasts as long as the page
    }
    return intent;
  }

  drop() {
    const name = nameOf(this.#sale);
    this.#memory.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // as above
    }
  }
}
