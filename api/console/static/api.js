// Calls to the API, and the token that they carry. A call ends in an answer, in a
// Refusal (the server said no, with a code), or in Lost (nobody knows whether it
// arrived).

export class Refusal extends Error {
  constructor(problem, status, retryAfter) {
    super(problem.code);
    this.code = problem.code;
    this.status = status;
    this.detail = problem.detail || '';
    this.trace = problem.trace_id || '';
    this.fields = Array.isArray(problem.errors) ? problem.errors : [];
    this.retryAfter = problem.retry_after_ms || retryAfter || 0;
  }
}

export class Lost extends Error {}

const TOKEN = 'seckill.operator';

// takeToken keeps the token of the address, once, and takes it out of there: it must
// not stay in the history, nor be copied with the address.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) return '';
  history.replaceState(null, '', location.pathname + location.search);
  return given;
}

// readToken gives a token as it was pasted without what is around it; '' for what can
// be none.
export function readToken(pasted) {
  const bare = pasted.trim().replace(/^bearer\s+/i, '');
  return /^[\x21-\x7e]+$/.test(bare) ? bare : '';
}

export const token = () => sessionStorage.getItem(TOKEN) || '';
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value);
export const forgetToken = () => sessionStorage.removeItem(TOKEN);

// operator is who the token names, to be shown: only the server knows whether it is
// true.
export function operator() {
  try {
    const part = token().split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(part), (c) => c.charCodeAt(0));
    return String(JSON.parse(new TextDecoder().decode(bytes)).sub || '');
  } catch {
    return '';
  }
}

export async function call(method, path, { body, language = 'en', signal, timeout = 8000 } = {}) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeout);
  const stop = () => abort.abort();
  signal?.addEventListener('abort', stop);
  const headers = { Accept: 'application/json', 'Accept-Language': language, Authorization: 'Bearer ' + token() };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const sent = performance.now();
  let answer, told, got;
  try {
    answer = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', redirect: 'error', signal: abort.signal,
    });
    got = performance.now();
    told = await answer.json();
  } catch {
    throw new Lost('no answer');
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
  if (answer.ok) return { body: told, sent, got };
  if (!told || typeof told.code !== 'string') throw new Lost('answer ' + answer.status);
  throw new Refusal(told, answer.status, 1000 * (Number(answer.headers.get('Retry-After')) || 0));
}
