// Turning a switch: first which, where and why; then a sentence that says what it
// will do; only then the call.

import { act, ANOTHER, Lost, operator, Refusal } from './api.js';
import { age, named, scope } from './board.js';
import { $, el, show, text } from './dom.js';
import { current, has, say, when } from './text.js';

const NAMES = ['pause_purchases', 'force_ended', 'skip_purchase_limit', 'skip_eligibility', 'pause_noncore'];
const ONLY_EVERYWHERE = ['pause_noncore'];
export const PATIENCE = 20000; // a stop waits for stores that are away before it answers
export const DOUBLE_CLICK = 500; // for so long the last button cannot be pressed by the click that brought it

export class Flipping {
  #on;
  #asked = null; // what the sentence says
  #busy = false;
  #unlock = null; // the timer that lets the last button be pressed

  // on.switches() and on.sales() give what is known, on.titles() the titles of sales,
  // on.alone(work) keeps other calls away, on.done(sentence) and on.denied(refusal) are
  // told.
  constructor(on) {
    this.#on = on;
    $('flip-form').addEventListener('submit', (e) => {
      e.preventDefault();
      if (!$('flip-ask').hidden) this.#check();
    });
    $('flip-cancel').addEventListener('click', () => this.#close());
    $('flip-back').addEventListener('click', () => this.#step(false));
    $('flip-do').addEventListener('click', () => this.#send());
    $('flip-name').addEventListener('change', () => this.#scopes($('flip-scope').value));
    $('flip').addEventListener('cancel', (e) => {
      if (this.#busy) e.preventDefault();
    });
  }

  // open asks about a switch, or which one.
  open({ name = NAMES[0], sale = '', on = true } = {}) {
    if ($('flip').open) return;
    $('flip-name').replaceChildren(...NAMES.map((n) => el('option', { value: n }, `${named('switch', n)} (${n})`)));
    $('flip-name').value = name;
    this.#scopes(sale);
    $('flip-on').checked = on;
    $('flip-off').checked = !on;
    $('flip-reason').value = '';
    this.#step(false);
    $('flip').showModal();
    $('flip-reason').focus();
  }

  // translate writes what the dialog says again.
  translate() {
    if (!$('flip').open) return;
    for (const option of $('flip-name').options) text(option, `${named('switch', option.value)} (${option.value})`);
    this.#scopes($('flip-scope').value);
    if (this.#asked) this.#sentence();
  }

  #scopes(chosen) {
    const titles = this.#on.titles();
    const one = ONLY_EVERYWHERE.includes($('flip-name').value);
    const sales = one ? [] : this.#on.sales().map((s) => s.id);
    if (chosen && !one && !sales.includes(chosen)) sales.push(chosen);
    $('flip-scope').replaceChildren(...['', ...sales].map((id) => el('option', { value: id }, scope(id, titles))));
    $('flip-scope').value = one ? '' : chosen;
  }

  #step(sure) {
    show($('flip-ask'), !sure);
    show($('flip-sure'), sure);
    for (const [id, visible] of [['flip-next', !sure], ['flip-back', sure], ['flip-do', sure]]) show($(id), visible);
    text($('flip-error'), '');
    if (!sure) {
      this.#asked = null;
      if ($('flip').open) $('flip-reason').focus();
    }
  }

  #check() {
    const reason = $('flip-reason').value.trim();
    $('flip-reason').setAttribute('aria-invalid', String(reason === ''));
    if (reason === '') {
      text($('flip-error'), say('flip.reason.missing'));
      return $('flip-reason').focus();
    }
    this.#step(true);
    this.#asked = { name: $('flip-name').value, sale: $('flip-scope').value, on: $('flip-on').checked, reason };
    this.#sentence();
    $('flip-sure').focus();
    $('flip-do').disabled = true;
    clearTimeout(this.#unlock);
    this.#unlock = setTimeout(() => { $('flip-do').disabled = this.#busy; }, DOUBLE_CLICK);
  }

  #values() {
    const { name, sale } = this.#asked;
    return { name: named('switch', name), code: name, scope: scope(sale, this.#on.titles()) };
  }

  #sentence() {
    const { name, on, reason } = this.#asked;
    const way = on ? 'on' : 'off';
    text($('flip-what'), say('flip.what.' + way, this.#values()));
    text($('flip-effect'), has(`effect.${name}.${way}`) ? say(`effect.${name}.${way}`) : '');
    text($('flip-now'), this.#now());
    text($('flip-why'), say('flip.why', { reason }));
    this.#asked.who = operator();
    text($('flip-who'), operator() ? say('flip.who', { who: operator() }) : '');
    text($('flip-do'), say('flip.do.' + way, this.#values()));
  }

  // now says how the switch stands, as far as that is known.
  #now() {
    const source = this.#on.switches();
    if (!source.data) return say('flip.now.unknown');
    const { name, sale } = this.#asked;
    const is = source.data.switches.find((s) => s.name === name && (s.sale || '') === sale);
    const stands = is?.on ? say('flip.now.on', { by: is.by, at: when(is.at), reason: is.reason }) : say('flip.now.off');
    return source.trouble ? `${stands} ${say('flip.now.old', { ago: age(source) })}` : stands;
  }

  async #send() {
    if (this.#busy || !this.#asked) return;
    this.#wait(true);
    const { name, sale, on, reason, who } = this.#asked;
    const body = sale ? { on, sale, reason } : { on, reason };
    try {
      await this.#on.alone(() => act(who, 'PUT', '/api/v1/admin/switches/' + encodeURIComponent(name), { body, language: current(), timeout: PATIENCE }));
      const sentence = say('flip.done.' + (on ? 'on' : 'off'), this.#values());
      this.#wait(false);
      this.#close();
      this.#on.done(sentence);
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      this.#wait(false);
      this.#failed(e);
    }
  }

  #failed(e) {
    $('flip-back').focus();
    if (e.code === ANOTHER) {
      this.#sentence();
      return text($('flip-error'), say('flip.another', { who: operator() }));
    }
    if (e instanceof Lost) return text($('flip-error'), say('flip.lost'));
    if (e.status === 401 || e.status === 403) {
      text($('flip-error'), say('flip.denied'));
      return this.#on.denied(e);
    }
    const key = e.code === 'busy' ? 'flip.busy' : e.code === 'internal' ? 'flip.lost' : 'flip.refused';
    text($('flip-error'), say(key, { detail: e.why, code: e.code }));
  }

  #wait(busy) {
    this.#busy = busy;
    for (const id of ['flip-do', 'flip-back', 'flip-cancel']) $(id).disabled = busy;
    text($('flip-error'), busy ? say('flip.sending') : '');
  }

  #close() {
    this.#asked = null;
    $('flip').close();
  }
}
