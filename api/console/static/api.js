// Calls to the API, and who is signed in. A call ends in an answer, in a
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

  // why is what the server says of it, and of each field that is wrong.
  get why() {
    return [this.detail, this.fields.map((f) => `${f.field}: ${f.reason}`).join('; ')].filter(Boolean).join(' ');
  }
}

export class Lost extends Error {}

const SESSION = '/ops/session';

// takeGiven gives what the address signs in with, once, and takes it out of there: it
// must not stay in the history, nor be copied with the address. null: nothing.
export function takeGiven() {
  const given = inAddress(location.hash);
  if (given) history.replaceState(null, '', location.pathname + location.search);
  return given;
}

function inAddress(hash) {
  const given = new URLSearchParams(hash.slice(1));
  const [token, code] = [given.get('token'), given.get('in')];
  if (token === null && code === null) return null;
  return code !== null ? { code } : { token: readToken(token) };
}

// readPasted gives what somebody signs in with: a token, or the whole address that was
// printed, as it can be copied.
export function readPasted(pasted) {
  const hash = pasted.trim().match(/#(?:in|token)=.*$/);
  return (hash && inAddress(hash[0])) || { token: readToken(pasted) };
}

// readToken gives a token as it was pasted without what is around it; '' for what can
// be none.
function readToken(pasted) {
  const bare = pasted.trim().replace(/^bearer\s+/i, '');
  return /^[\x21-\x7e]+$/.test(bare) ? bare : '';
}

let who = '';

// operator is who is signed in, as the server said last; '' for nobody.
export const operator = () => who;
export const forget = () => { who = ''; };
export const heard = (name) => { who = name; };

// signIn gives a token, or the code of a link, to the server, which keeps it in a
// cookie that no script reads.
export async function signIn(given, language) {
  who = (await call('POST', SESSION, { body: given, language })).body.who;
}

// signedIn asks who is signed in by the cookie that this browser has.
export async function signedIn(language) {
  who = (await call('GET', '/api/v1/admin/session', { language })).body.who;
}

// ANOTHER is the code of what was not sent, since somebody else signed in meanwhile in
// another window of this browser, which has one cookie for all.
export const ANOTHER = 'another_operator';

// act is call for what changes something: it goes under the name that was shown, or not
// at all.
export async function act(shown, method, path, options) {
  await signedIn(options.language);
  if (who !== shown) throw new Refusal({ code: ANOTHER }, 409);
  return call(method, path, options);
}

// signOut ends the cookie.
export async function signOut(language) {
  forget();
  await call('DELETE', SESSION, { language });
}

// headersOf go with every call: what is asked by cookie needs the last of them.
export const headersOf = (language) => ({ Accept: 'application/json', 'Accept-Language': language, 'X-Seckill-Console': '1' });

export async function call(method, path, { body, headers: more = {}, language = 'en', signal, timeout = 8000 } = {}) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeout);
  const stop = () => abort.abort();
  signal?.addEventListener('abort', stop);
  const headers = { ...headersOf(language), ...more };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const sent = performance.now();
  let answer, told, got;
  try {
    answer = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: abort.signal,
    });
    got = performance.now();
    told = answer.status === 204 ? null : await answer.json();
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
