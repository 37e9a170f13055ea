// What views have set aside, because it cannot be applied.

import { OF_LETTER } from './actions.js';
import { $, cell, el, keyed, mark, row, show, text } from './dom.js';
import { say, when } from './text.js';

const columns = ['projection', 'sequence', 'state', 'events', 'since', 'why', 'act'];
export const MOST = 100;

// render shows the list; onAct(letter, actions) is told that somebody wants to act.
export function render(source, onAct) {
  const all = source.data?.sequences || [];
  text($('letters-note'), source.data ? say(all.length ? 'letters.some' : 'letters.none') : '');
  show($('letters-table'), all.length > 0);
  show($('letters-more'), Boolean(source.data?.more));
  const key = (s) => [s.database, s.projection, s.sequence].join('\n');
  const make = () => {
    const tr = row(columns);
    cell(tr, 'act').append(el('button', { type: 'button', class: 'quiet' }));
    return tr;
  };
  keyed($('letter-rows'), all, key, make, (tr, s) => {
    for (const name of columns) cell(tr, name).dataset.label = say('col.' + name);
    mark(tr, 'on', s.state === 'parked' ? 'yes' : 'no');
    text(cell(tr, 'projection'), s.database ? `${s.projection} (${s.database})` : s.projection);
    text(cell(tr, 'sequence'), s.sequence);
    text(cell(tr, 'state'), say(s.state === 'parked' ? 'letters.parked' : 'letters.dropped'));
    text(cell(tr, 'events'), s.events);
    text(cell(tr, 'since'), when(s.since));
    text(cell(tr, 'why'), s.state === 'parked' ? s.reason : s.note);
    const button = tr.querySelector('button');
    text(button, say('act.any'));
    button.setAttribute('aria-label', `${button.textContent} ${s.sequence}`);
    button.onclick = () => onAct(s, OF_LETTER);
  });
}
