// Stream reads the overview while somebody looks: one request that goes on answering,
// read by fetch. What ends or is refused is asked for again, less and less often; a
// node that streams to nobody now is asked for one look each time.

import { call, headersOf, Lost, Refusal } from './api.js';

const PATH = '/api/v1/admin/overview';
const SLOWEST = 8000;
const SILENT = 10000; // without a word for so long it is taken for broken

export class Stream {
  #on;
  #running = false;
  #abort = null; // of the one request
  #timer = null;
  #fails = 0;
  // source is what is known: data, at (performance.now() of it), trouble.
  source = { name: 'overview', data: null, at: NaN, trouble: null };

  // on.seen(overview) is told of each, on.lost() of trouble, on.denied(refusal) when
  // nobody is signed in (then it has stopped); on.language() is asked.
  constructor(on) {
    this.#on = on;
    document.addEventListener('visibilitychange', () => this.#look());
  }

  start() {
    this.#running = true;
    this.#fails = 0;
    this.#look();
  }

  stop() {
    this.#running = false;
    this.#look();
  }

  #look() {
    const wanted = this.#running && !document.hidden;
    clearTimeout(this.#timer);
    if (!wanted) return this.#abort?.abort();
    if (!this.#abort) this.#ask();
  }

  async #ask() {
    const abort = new AbortController();
    this.#abort = abort;
    let trouble = null;
    try {
      await this.#read(abort);
    } catch (e) {
      trouble = abort.signal.aborted || !(e instanceof Refusal) ? new Lost('no answer') : await this.#once(e, abort);
    }
    this.#abort = null;
    if (!this.#running) return;
    if (trouble instanceof Refusal && (trouble.status === 401 || trouble.status === 403)) {
      this.#running = false;
      return this.#on.denied(trouble);
    }
    if (document.hidden) return;
    if (trouble) {
      this.#fails++;
      this.source.trouble = trouble;
      this.#on.lost();
    }
    const wait = trouble ? Math.min(SLOWEST, 500 * 2 ** this.#fails) : 1000;
    this.#timer = setTimeout(() => this.#look(), wait + Math.random() * 500);
  }

  // once asks for one look where no stream is given; it gives what is wrong.
  async #once(refused, abort) {
    if (refused.code !== 'paused' && refused.code !== 'busy') return refused;
    try {
      this.#took((await call('GET', PATH, { signal: abort.signal, language: this.#on.language() })).body);
      return null;
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      return e;
    }
  }

  async #read(abort) {
    let silent = setTimeout(() => abort.abort(), SILENT);
    try {
      const answer = await fetch(PATH + '/stream', {
        headers: headersOf(this.#on.language()), cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: abort.signal,
      });
      if (!answer.ok) throw new Refusal(await answer.json(), answer.status, 0);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silent);
        silent = setTimeout(() => abort.abort(), SILENT);
        const events = (text + value).split('\n\n');
        text = events.pop();
        for (const event of events) this.#event(event);
      }
    } finally {
      clearTimeout(silent);
    }
  }

  #event(event) {
    const field = (name) => event.split('\n').find((line) => line.startsWith(name + ': '))?.slice(name.length + 2);
    if (field('event') === 'overview') this.#took(JSON.parse(field('data')));
  }

  #took(overview) {
    this.#fails = 0;
    Object.assign(this.source, { data: overview, at: performance.now(), trouble: null });
    try {
      this.#on.seen(overview);
    } catch (e) {
      reportError(e); // of ours, and no reason to ask again
    }
  }
}
