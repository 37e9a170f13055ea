// What the goroutines of the node wait for, when somebody asks: the first question when
// little is computed and answers take long.

import { call, Lost, Refusal } from './api.js';
import { $, el, text } from './dom.js';
import { current, has, say } from './text.js';

let asking = false;

// ask looks once. on.alone(work) keeps other calls away, on.denied(refusal) is told.
export async function ask(on) {
  if (asking) return;
  asking = true;
  text($('stacks-note'), say('flip.sending'));
  try {
    const { body } = await on.alone(() => call('GET', '/api/v1/admin/stacks', { language: current() }));
    const waiting = body.groups.filter((g) => !g.idle);
    text($('stacks-note'), say('stacks.seen', { node: body.node, n: body.goroutines, waiting: waiting.reduce((sum, g) => sum + g.goroutines, 0) }));
    $('stacks-found').replaceChildren(...waiting.map((g) => el('li', {}, `${g.goroutines} × ${g.waits_for} · ${has('wait.' + g.waits_for) ? say('wait.' + g.waits_for) : g.says}`)));
  } catch (e) {
    if (!(e instanceof Lost || e instanceof Refusal)) throw e;
    $('stacks-found').replaceChildren();
    text($('stacks-note'), e instanceof Lost ? say('search.lost') : say('flip.refused', { detail: e.why, code: e.code }));
    if (e.status === 401 || e.status === 403) on.denied(e);
  } finally {
    asking = false;
  }
}

// forget takes what was seen away: it is of that moment.
export function forget() {
  text($('stacks-note'), '');
  $('stacks-found').replaceChildren();
}
