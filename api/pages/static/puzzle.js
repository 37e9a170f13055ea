// A proof of work as ALTCHA makes it: the number from 0 to maxnumber for which
// SHA-256 over salt and its digits is challenge.

import { after } from './sha256.js';

// search gives a function that tries so many numbers more. It gives the number once
// it is found, -1 when there is none, null while it may still come.
export function search({ salt, challenge, maxnumber }) {
  const want = Uint32Array.from({ length: 8 }, (_, i) => parseInt(challenge.slice(8 * i, 8 * i + 8), 16));
  const hash = after(salt);
  let next = 0;
  return (tries) => {
    for (const end = Math.min(next + tries, maxnumber + 1); next < end; next++) {
      const sum = hash(String(next));
      if (sum[0] === want[0] && sum.every((word, i) => word === want[i])) return next;
    }
    return next > maxnumber ? -1 : null;
  };
}
