// Calls to the API. A call ends in an answer, in a Refusal (the server said no,
// with a code), or in Lost (nobody knows whether it arrived).

export class Refusal extends Error {
  constructor(problem, retryAfter) {
    super(problem.code);
    this.code = problem.code;
    this.detail = problem.detail || '';
    this.retryAfter = problem.retry_after_ms || retryAfter || 0;
    this.opensAt = problem.opens_at || null;
    this.order = problem.order || null;
  }
}

export class Lost extends Error {}

const TIMEOUT = 12000;
const TOKEN = 'seckill.token';

// takeToken keeps the token of the address, once, and takes it out of there:
// it must not stay in the history, nor be copied with the address.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!given) return false;
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

export const token = () => sessionStorage.getItem(TOKEN) || '';
export const forgetToken = () => sessionStorage.removeItem(TOKEN);

// buyer is who the token names: only to keep several buyers of one browser apart.
export function buyer() {
  try {
    const claims = token().split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    return String(JSON.parse(atob(claims)).sub || '');
  } catch {
    return '';
  }
}

export async function call(method, path, { body, headers = {}, signIn = true, language = 'en' } = {}) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT);
  const sent = performance.now();
  const all = { Accept: 'application/json', 'Accept-Language': language, ...headers };
  if (signIn && token()) all.Authorization = 'Bearer ' + token();
  if (body !== undefined) all['Content-Type'] = 'application/json';
  let answer, got, told;
  try {
    answer = await fetch(path, {
      method, headers: all, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', redirect: 'error', signal: abort.signal,
    });
    got = performance.now();
    told = await answer.json();
  } catch {
    throw new Lost('no answer');
  } finally {
    clearTimeout(timer);
  }
  if (answer.ok) return { status: answer.status, body: told, sent, got };
  if (!told || typeof told.code !== 'string' || told.code === 'internal') throw new Lost('answer ' + answer.status);
  throw new Refusal(told, 1000 * (Number(answer.headers.get('Retry-After')) || 0));
}

// pause waits so many milliseconds and a random part more: a crowd must not come
// back in one moment.
export const pause = (ms, more = ms / 2) => new Promise((done) => setTimeout(done, ms + Math.random() * more));
