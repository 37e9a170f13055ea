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

  // add asks for path every so many milliseconds. accept may make data of a refusal. Where
  // there is no time for all, it may be late by so many times its pace as others by one.
  add(name, { path, every, patience = 1, accept = () => null }) {
    if (this.#sources.has(name)) return;
    this.#sources.set(name, { name, path, every, patience, accept, due: performance.now(), data: null, at: NaN, trouble: null, fails: 0 });
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
    for (const s of this.#sources.values()) s.due = performance.now();
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
    if (source) source.due = -Infinity;
    this.#plan();
  }

  // pace changes how often something is asked for.
  pace(name, every) {
    const source = this.#sources.get(name);
    if (source) source.every = every;
  }

  // aim asks for another path under a name, at once.
  aim(name, path) {
    const source = this.#sources.get(name);
    if (source) source.path = path;
    this.soon(name);
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
    const next = this.#next();
    if (next) this.#timer = setTimeout(() => this.#ask(next), Math.max(0, next.due - performance.now()));
  }

  // next is what is overdue by most of its own pace and patience, so that nothing waits
  // for a hundred sales, each of which answers late; else what is due soonest.
  #next() {
    const now = performance.now();
    const late = (s) => (now - s.due) / (s.every * s.patience);
    let next = null;
    for (const s of this.#sources.values()) if (!next || (s.due <= now ? late(s) > late(next) : s.due < next.due)) next = s;
    return next;
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
