// The language of the page, and texts in it.

import messages from './messages.js';

const KEPT = 'seckill.language';
let language = start();

function start() {
  let kept = null;
  try {
    kept = localStorage.getItem(KEPT);
  } catch {
    // a browser that keeps nothing
  }
  if (kept in messages) return kept;
  return (navigator.language || '').toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const current = () => language;

export function change() {
  language = language === 'zh' ? 'en' : 'zh';
  try {
    localStorage.setItem(KEPT, language);
  } catch {
    // as above
  }
}

export const has = (key) => key in messages[language];

export function say(key, values = {}) {
  const text = messages[language][key] ?? messages.en[key] ?? '';
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

const locale = () => (language === 'zh' ? 'zh-CN' : 'en');

export function when(time) {
  const at = new Date(time);
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: at.getSeconds() ? 'medium' : 'short' }).format(at);
}

export function money(amount, currency) {
  try {
    return new Intl.NumberFormat(locale(), { style: 'currency', currency }).format(amount);
  } catch {
    return `${currency} ${amount}`;
  }
}

// left writes a time that is left, in milliseconds.
export function left(ms) {
  const all = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  const days = Math.floor(all / 86400);
  const clock = `${two(Math.floor(all / 3600) % 24)}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`;
  return days ? say('days', { days, clock }) : clock;
}
