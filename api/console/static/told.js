// What the server says in English sentences (why a refusal was right, what a finding is),
// in the language of the page. The table has each form as the program has it, with its
// values as verbs, and beside it the same in Chinese: {2} is the second value,
// {2:order} a state of an order, {2:said} a sentence, {2:list} clauses with "; " or ", "
// between.

import sentences from './sentences.js';
import { current, has, say } from './text.js';

const VALUES = { '%d': '(-?\\d+)', '%t': '(true|false)', '%q': '("(?:[^"\\\\]|\\\\.)*")' };
const plain = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const formOf = (english) => new RegExp('^' + english.split(/(%[dtqsv])/).map((part) => (/^%[dtqsv]$/.test(part) ? VALUES[part] || '(.+?)' : plain(part))).join('') + '$', 's');
const verbs = /%[dtqsv]/g;

let forms = null;

// table gives the forms with values, those that say most before those that say little.
function table() {
  const long = (english) => english.replace(verbs, '').length;
  forms ??= Object.entries(sentences).filter(([english]) => english.match(verbs)).sort(([a], [b]) => long(b) - long(a)).map(([english, chinese]) => [formOf(english), chinese]);
  return forms;
}

const outsideQuotes = '(?=(?:[^"]*"[^"]*")*[^"]*$)';

// clauses says each of several; where one of them has no Chinese all stay as they are.
function clauses(text) {
  for (const [between, joined] of [['; ', '；'], [', ', '，']]) {
    const all = text.split(new RegExp(between + outsideQuotes)).map(chinese);
    if (!all.includes(null)) return all.join(joined);
  }
  return text;
}

const ways = {
  order: (value) => (has('order.' + value) ? say('order.' + value) : value),
  said: (value) => chinese(value) ?? value,
  list: clauses,
};

// chinese gives a sentence in Chinese, or null where the table does not have it.
export function chinese(sentence) {
  if (Object.hasOwn(sentences, sentence)) return sentences[sentence];
  for (const [form, text] of table()) {
    const values = form.exec(sentence);
    if (values) return text.replace(/\{(\d+)(?::(\w+))?\}/g, (_, n, way) => (ways[way] ? ways[way](values[n]) : values[n]));
  }
  return null;
}

// told says a sentence of the server in the language of the page; one that the table does
// not have, such as what a library says, stays as it is.
export const told = (sentence) => (current() === 'zh' ? (chinese(sentence) ?? sentence) : sentence);

// language names the language that told says it in, for who reads it aloud.
export const language = (sentence) => (current() === 'zh' && chinese(sentence) !== null ? 'zh-CN' : 'en');
