// SHA-256 of short texts that begin alike, as a proof of work needs it: what they
// begin with is folded once. It is not for secrets, and needs no secure context.

const K = new Uint32Array(64);
const START = new Uint32Array(8);

// The constants are the fraction bits of roots of the first primes.
for (let n = 2, found = 0; found < 64; n++) {
  let prime = true;
  for (let d = 2; d * d <= n; d++) prime = prime && n % d !== 0;
  if (!prime) continue;
  const bits = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32);
  if (found < 8) START[found] = bits(Math.sqrt(n));
  K[found++] = bits(Math.cbrt(n));
}

const W = new Uint32Array(64);

// fold folds the 64 bytes of block at offset into state.
function fold(state, block, offset) {
  for (let i = 0; i < 16; i++, offset += 4) {
    W[i] = block[offset] << 24 | block[offset + 1] << 16 | block[offset + 2] << 8 | block[offset + 3];
  }
  for (let i = 16; i < 64; i++) {
    const x = W[i - 15], y = W[i - 2];
    const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
    const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
    W[i] = W[i - 16] + s0 + W[i - 7] + s1;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const t1 = h + s1 + (e & f ^ ~e & g) + K[i] + W[i] | 0;
    const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
    h = g; g = f; f = e; e = d + t1 | 0; d = c; c = b; b = a; a = t1 + t2 | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

// After gives a function that hashes texts which begin with prefix: it takes what
// follows, some ASCII characters, and gives eight 32-bit words, the same array each
// time.
export function after(prefix) {
  const head = new TextEncoder().encode(prefix);
  const whole = head.length - head.length % 64;
  const folded = START.slice();
  for (let i = 0; i < whole; i += 64) fold(folded, head, i);
  const rest = head.subarray(whole);
  const tail = new Uint8Array(192);
  tail.set(rest);
  const state = new Uint32Array(8);
  return (text) => {
    let n = rest.length;
    for (let i = 0; i < text.length; i++) tail[n++] = text.charCodeAt(i);
    const end = n + 9 <= 64 ? 64 : n + 9 <= 128 ? 128 : 192;
    tail.fill(0, n, end);
    tail[n] = 0x80;
    const length = whole + n; // bytes, far below 2^29
    tail[end - 4] = length >>> 21;
    tail[end - 3] = length >>> 13;
    tail[end - 2] = length >>> 5;
    tail[end - 1] = length << 3;
    state.set(folded);
    for (let i = 0; i < end; i += 64) fold(state, tail, i);
    return state;
  };
}
