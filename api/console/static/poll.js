// Poll asks for several things again and again while somebody looks, one request at a
// time. What does not answer is asked for less and less often, up to every eight
// seconds, and what was seen of it last stays.

import { call, Lost, Refusal } from './api.js';

const SLOWEST = 8000;

export class Poll {
  #sources = new Map();
  #on;
  #timer = null;
  #inFlight = null; // the AbortController of the one request
  #running = false;
  #held = 0;

  // on.changed(source, before) is told after each answer, on.denied(refusal) when the
  // token is not good (then it has stopped); on.language() is asked.
  constructor(on) {
    this.#on = on;
    document.addEventListener('visibilitychange', () => this.#plan());
  }

  // add asks for path every so many milliseconds. accept may make data of a refusal.
  add(name, { path, every, accept = () => null }) {
    if (this.#sources.has(name)) return;
    this.#sources.set(name, { name, path, every, accept, due: 0, data: null, at: NaN, trouble: null, fails: 0 });
    this.#plan();
  }

  drop(name) {
    this.#sources.delete(name);
  }

  names() {
    return [...this.#sources.keys()];
  }

  // of gives what is known: data, at (performance.now() of the answer), trouble.
  of(name) {
    return this.#sources.get(name) || { name, data: null, at: NaN, trouble: null };
  }

  start() {
    this.#running = true;
    for (const s of this.#sources.values()) s.due = 0;
    this.#plan();
  }

  stop() {
    this.#running = false;
    this.#inFlight?.abort();
    this.#plan();
  }

  // soon asks for something at once.
  soon(name) {
    const source = this.#sources.get(name);
    if (source) source.due = 0;
    this.#plan();
  }

  // pace changes how often something is asked for.
  pace(name, every) {
    const source = this.#sources.get(name);
    if (source) source.every = every;
  }

  // alone does something while nothing is asked for.
  async alone(work) {
    this.#held++;
    this.#inFlight?.abort();
    try {
      return await work();
    } finally {
      this.#held--;
      this.#plan();
    }
  }

  #plan() {
    clearTimeout(this.#timer);
    if (!this.#running || this.#inFlight || this.#held > 0 || document.hidden) return;
    let next = null;
    for (const s of this.#sources.values()) if (!next || s.due < next.due) next = s;
    if (next) this.#timer = setTimeout(() => this.#ask(next), Math.max(0, next.due - performance.now()));
  }

  async #ask(source) {
    if (this.#inFlight || this.#held > 0 || !this.#running) return;
    const abort = new AbortController();
    this.#inFlight = abort;
    const before = { data: source.data, trouble: source.trouble };
    try {
      this.#took(source, await call('GET', source.path, { signal: abort.signal, language: this.#on.language() }));
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      if (!abort.signal.aborted) this.#missed(source, e);
    } finally {
      this.#inFlight = null;
      if (this.#running && this.#sources.get(source.name) === source && !abort.signal.aborted) this.#on.changed(source, before);
      this.#plan();
    }
  }

  #took(source, { body, sent, got }) {
    Object.assign(source, { data: body, sent, at: got, trouble: null, fails: 0, due: performance.now() + source.every });
  }

  #missed(source, e) {
    const data = e instanceof Refusal ? source.accept(e, source.data) : null;
    const now = performance.now();
    if (data) return this.#took(source, { body: data, sent: now, got: now });
    if (e instanceof Refusal && (e.status === 401 || e.status === 403)) {
      this.#running = false;
      return this.#on.denied(e);
    }
    source.trouble = e;
    source.fails++;
    const wait = Math.max(e.retryAfter || 0, Math.min(SLOWEST, 500 * 2 ** source.fails));
    source.due = now + Math.min(SLOWEST, wait) + Math.random() * 500;
  }
}
