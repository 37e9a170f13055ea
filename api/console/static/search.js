// The story of a purchase, by an order, a buyer or a trace id; and what a receipt of a
// refusal says.

import { call, Lost, Refusal } from './api.js';
import { $, el, show, text } from './dom.js';
import { sayStep, utc } from './steps.js';
import { current, has, say, when } from './text.js';
import { language, told } from './told.js';

const RECEIPT = /^[\w-]{76}$/; // ids of orders and traces are shorter

const p = (sentence, kind = '') => el('p', kind ? { class: kind } : {}, sentence);
const list = (tag, lines) => (lines.length ? [el(tag, {}, ...lines.map((line) => el('li', {}, line)))] : []);
// because is a list of sentences of the server, which are those of the command line.
const because = (all) => (all.length ? [el('ul', {}, ...all.map((s) => el('li', { lang: language(s) }, told(s))))] : []);
const status = (name) => (has('order.' + name) ? say('order.' + name) : name);

// after writes how much later a step was than the one before.
const after = (us) => (Math.abs(us) < 1000 ? `${us} µs` : Math.abs(us) < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(1)} s`);

const step = (s) => [`${utc(s.at)} (${say('story.clock.' + s.clock)}, +${after(s.after_us)})`, sayStep(s), s.by && say('story.by', { by: s.by }), s.position && say('story.position', { n: s.position })].filter(Boolean).join(' · ');

function purchase(s) {
  const lines = s.lines.map((l) => `${l.quantity} × ${l.sku}`).join(', ');
  const views = s.views.map((v) => say(v.has ? 'story.view.has' : 'story.view.behind', { name: v.name, position: v.position }) + (v.parked ? ' ' + say('story.view.parked', { why: v.parked }) : ''));
  return el('article', { class: 'story', 'data-key': s.order_id },
    el('div', { class: 'head' }, el('h3', {}, s.order_id), el('p', { class: 'badge' }, status(s.status))),
    p([lines, s.amount && `${s.amount} ${s.currency}`, s.reason].filter(Boolean).join(' · ')),
    p(say('story.of', { sale: s.sale_id, buyer: s.buyer_id || '–', trace: s.trace_id || '–' }), 'note'),
    ...(s.doubts || []).map((d) => p(told(d), 'bad')), ...list('ol', s.steps.map(step)),
    p(say('story.views', { views: views.join('; ') }), 'note'));
}

function story(answer) {
  const unasked = (answer.unasked || []).map((u) => p(say('story.unasked', { what: told(u) }), 'bad'));
  const more = answer.more ? [p(say('story.more', { n: answer.more }), 'note')] : [];
  const none = answer.purchases.length ? [] : [p(say('story.none.' + answer.as, { id: answer.id }))];
  return [...unasked, ...none, ...answer.purchases.map(purchase), ...more];
}

function receipt(r) {
  const then = r.then ? r.then.stock.map((s) => say('receipt.stock', { sku: s.sku, released: s.released, taken: s.taken, back: s.given_back, left: s.left })) : [];
  return [el('article', { class: 'story' },
    el('div', { class: 'head' }, el('h3', {}, say('receipt')), el('p', { class: 'badge' }, say('judgement.' + r.judgement))),
    p([r.code, r.sale_id, r.sku, r.at && when(r.at)].filter(Boolean).join(' · ')), ...because(r.says), ...list('ul', then))];
}

export class Search {
  #on;
  #shown = null; // what was found, to be written again in another language
  #busy = false;

  // on.alone(work) keeps other calls away, on.denied(refusal) is told.
  constructor(on) {
    this.#on = on;
    $('search-form').addEventListener('submit', (e) => {
      e.preventDefault();
      this.#find($('search-id').value.trim());
    });
  }

  translate() {
    if (this.#shown) this.#show();
  }

  forget() {
    this.#shown = null;
    $('search-id').value = '';
    $('search-found').replaceChildren();
    text($('search-error'), '');
  }

  async #find(id) {
    if (this.#busy) return;
    if (id === '') {
      text($('search-error'), say('search.empty'));
      return $('search-id').focus();
    }
    const [path, write] = RECEIPT.test(id) ? ['/api/v1/admin/receipts/' + encodeURIComponent(id), receipt] : ['/api/v1/admin/trace?id=' + encodeURIComponent(id), story];
    this.#busy = true;
    text($('search-error'), say('flip.sending'));
    try {
      const answer = await this.#on.alone(() => call('GET', path, { language: current(), timeout: 20000 }));
      text($('search-error'), '');
      this.#shown = { write, answer: answer.body };
      this.#show();
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      this.#shown = null;
      $('search-found').replaceChildren();
      text($('search-error'), e instanceof Lost ? say('search.lost') : say('flip.refused', { detail: e.why, code: e.code }));
      if (e.status === 401 || e.status === 403) this.#on.denied(e);
    } finally {
      this.#busy = false;
    }
  }

  #show() {
    $('search-found').replaceChildren(...this.#shown.write(this.#shown.answer));
    show($('search-found'), true);
  }
}
