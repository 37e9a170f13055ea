// Acting on a sale, or on what is set aside: first what, how much and why; then a sentence that says what it
// will do; only then the call, which is the one of the command line. Then what came of
// it.

import { act, ANOTHER, call, Lost, operator, Refusal } from './api.js';
import { DOUBLE_CLICK, PATIENCE } from './flip.js';
import { $, el, show, text } from './dom.js';
import { found } from './report.js';
import { current, say } from './text.js';

export class Acting {
  #on;
  #actions = [];
  #subject = null;
  #asked = null; // what the sentence says
  #lost = null; // what was asked without an answer that says what became of it
  #busy = false;
  #report = null; // what came of it
  #unlock = null; // the timer that lets the last button be pressed

  // on.alone(work) keeps other calls away, on.done(sentence, subject) and
  // on.denied(refusal) are told.
  constructor(on) {
    this.#on = on;
    $('act-form').addEventListener('submit', (e) => {
      e.preventDefault();
      if (!$('act-ask').hidden) this.#check();
    });
    $('act-cancel').addEventListener('click', () => $('act').close());
    $('act-back').addEventListener('click', () => {
      this.#step('ask');
      $('act-name').focus();
    });
    $('act-do').addEventListener('click', () => this.#send());
    $('act-name').addEventListener('change', () => this.#fields());
    $('act-certain').addEventListener('change', () => this.#ready());
    $('act').addEventListener('cancel', (e) => {
      if (this.#busy) e.preventDefault();
    });
    $('act').addEventListener('close', () => this.#leave());
  }

  // leave goes on where the dialog was asked for: at the button, or beside where it was.
  #leave() {
    this.#asked = null;
    const at = document.activeElement; // a button that is hidden now, or none, where the other one is gone
    if (at === document.body || $('act').contains(at)) $(this.#subject.projection ? 'letters-title' : 'sales-title').focus();
  }

  // open asks what to do with a sale or a dead letter.
  open(subject, actions) {
    if (document.querySelector('dialog[open]')) return;
    this.#actions = actions;
    this.#subject = subject;
    this.#options(actions[0].name);
    $('act-sku').replaceChildren(...(subject.items || []).map((i) => el('option', { value: i.sku }, i.title ? `${i.title} (${i.sku})` : i.sku)));
    $('act-quantity').value = '';
    $('act-note').value = '';
    this.#step('ask');
    $('act').showModal();
    $('act-name').focus();
  }

  // translate writes what the dialog says again.
  translate() {
    if (!$('act').open) return;
    this.#options($('act-name').value);
    if (this.#asked) this.#sentence();
    text($('act-cancel'), say(this.#report ? 'act.shut' : 'flip.cancel'));
    if (this.#report) this.#tell();
  }

  #options(chosen) {
    $('act-name').replaceChildren(...this.#actions.map((a) => el('option', { value: a.name }, say('act.' + a.name))));
    $('act-name').value = chosen;
    this.#fields();
  }

  #action = () => this.#actions.find((a) => a.name === $('act-name').value);

  #fields() {
    const action = this.#action();
    text($('act-subject'), this.#subject.title ? `${this.#subject.title} (${this.#subject.id})` : `${this.#subject.projection} · ${this.#subject.sequence}`);
    show($('act-units'), Boolean(action.units));
    show($('act-why'), Boolean(action.note));
    text($('act-next'), say(action.calm ? 'act.do.' + action.name : 'flip.next'));
    text($('act-error'), '');
  }

  #step(step) {
    for (const name of ['ask', 'sure', 'report']) show($('act-' + name), name === step);
    show($('act-next'), step === 'ask');
    show($('act-do'), step === 'sure');
    show($('act-back'), step !== 'ask');
    text($('act-cancel'), say(step === 'report' ? 'act.shut' : 'flip.cancel'));
    text($('act-error'), '');
    if (step === 'ask') {
      this.#asked = null;
      this.#report = null;
      this.#fields();
    }
  }

  #check() {
    const action = this.#action();
    const written = $('act-quantity').value.trim();
    const quantity = Number(written);
    if (action.units && !(/^\d+$/.test(written) && quantity > 0 && quantity < 2147483648)) {
      text($('act-error'), say('act.quantity.odd'));
      return $('act-quantity').focus();
    }
    const note = $('act-note').value.trim();
    if (action.needed && note === '') {
      text($('act-error'), say('act.reason.missing'));
      return $('act-note').focus();
    }
    this.#asked = { action, subject: this.#subject, quantity, sku: $('act-sku').value, note };
    this.#asked.key = this.#again() ? this.#lost.key : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
    if (action.calm) return this.#send();
    this.#step('sure');
    this.#sentence();
    $('act-sure').focus();
    show($('act-grave'), Boolean(action.grave));
    $('act-certain').checked = false;
    $('act-do').disabled = true;
    clearTimeout(this.#unlock);
    this.#unlock = setTimeout(() => this.#ready(), DOUBLE_CLICK);
  }

  // again tells whether what is asked was asked before, and nobody knows what became of
  // it: under the same key it changes nothing more.
  #again() {
    const [is, was] = [this.#asked, this.#lost];
    return was !== null && is.action === was.action && is.subject.id === was.subject.id && is.sku === was.sku && is.quantity === was.quantity;
  }

  #ready() {
    $('act-do').disabled = this.#busy || Boolean(this.#asked?.action.grave && !$('act-certain').checked);
  }

  #values() {
    const { subject, quantity, sku } = this.#asked;
    return { title: subject.title, id: subject.id, projection: subject.projection, sequence: subject.sequence, quantity, sku };
  }

  #sentence() {
    const { action, note } = this.#asked;
    text($('act-what'), say('act.what.' + action.name, this.#values()));
    text($('act-effect'), say('act.effect.' + action.name));
    text($('act-note-said'), note ? say('flip.why', { reason: note }) : '');
    this.#asked.who = operator();
    text($('act-who'), say('flip.who', { who: operator() }));
    text($('act-do'), say('act.do.' + action.name));
  }

  async #send() {
    if (this.#busy || !this.#asked) return;
    this.#wait(true);
    const asked = this.#asked;
    const [method, path, body, headers] = asked.action.ask(asked.subject, asked);
    try {
      const options = { body, headers, language: current(), timeout: PATIENCE };
      const answer = await this.#on.alone(() => (asked.action.calm ? call(method, path, options) : act(asked.who, method, path, options)));
      this.#lost = null;
      this.#wait(false);
      this.#report = { action: asked.action.name, answer: answer.body, values: this.#values() };
      this.#step('report');
      this.#tell();
      if (!asked.action.calm) this.#on.done(say('act.done.' + asked.action.name, this.#values()), asked.subject);
    } catch (e) {
      if (!(e instanceof Lost || e instanceof Refusal)) throw e;
      this.#wait(false);
      this.#failed(e);
    }
  }

  #tell() {
    const { action, answer, values } = this.#report;
    text($('act-told'), say('act.done.' + action, values));
    $('act-found').replaceChildren(...found(action, answer));
    $('act-report').focus();
  }

  #failed(e) {
    $($('act-sure').hidden ? 'act-next' : 'act-back').focus(); // the button that was pressed could not be while it was busy
    if (e.code === ANOTHER) {
      this.#sentence();
      return text($('act-error'), say('flip.another', { who: operator() }));
    }
    if (e instanceof Lost || e.status >= 500) this.#lost = this.#asked; // it may be done
    if (e instanceof Lost) return text($('act-error'), say('act.lost'));
    if (e.status === 401 || e.status === 403) {
      text($('act-error'), say('flip.denied'));
      return this.#on.denied(e);
    }
    text($('act-error'), say(e.code === 'internal' ? 'act.lost' : e.code === 'busy' ? 'flip.busy' : 'flip.refused', { detail: e.why, code: e.code }));
  }

  #wait(busy) {
    this.#busy = busy;
    for (const id of ['act-back', 'act-cancel', 'act-next']) $(id).disabled = busy;
    this.#ready();
    text($('act-error'), busy ? say('flip.sending') : '');
  }
}
