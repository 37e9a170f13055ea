// What can be done, and to what: each is one call, the one of the command line.
// calm: it changes nothing, so nothing is confirmed. grave: nobody takes it back, so
// it is confirmed twice. fits: it is offered for this alone.

const of = (sale) => '/api/v1/admin/sales/' + encodeURIComponent(sale.id);
const steer = (name, path, grave = false) => ({ name, note: true, grave, ask: (sale, { note }) => ['POST', `${of(sale)}/${path}`, note ? { note } : {}] });
const units = (name, sign) => ({
  name, units: true,
  ask: (sale, { sku, quantity, key }) => ['POST', `${of(sale)}/items/${encodeURIComponent(sku)}/releases`, { quantity: sign * quantity }, { 'Idempotency-Key': key }],
});

export const OF_SALE = [
  steer('pause', 'pause'), steer('resume', 'resume'), units('release', 1), units('withdraw', -1),
  { name: 'preheat', ask: (sale) => ['POST', of(sale) + '/preheat'] }, { name: 'verify', calm: true, ask: (sale) => ['GET', of(sale) + '/preheat'] },
  { ...steer('confirm', 'confirmation'), fits: (sale) => sale.confirmed === false },
  { name: 'reconcile', calm: true, ask: (sale) => ['POST', of(sale) + '/reconciliation', {}] },
  { name: 'repair', note: true, grave: true, ask: (sale, { note }) => ['POST', of(sale) + '/reconciliation', note ? { repair: true, note } : { repair: true }] },
  steer('close', 'close', true),
];

const at = (letter) => `/api/v1/admin/dead-letters/${encodeURIComponent(letter.projection)}/${encodeURIComponent(letter.sequence)}`;

export const OF_LETTER = [
  { name: 'show', calm: true, ask: (letter) => ['GET', at(letter)] },
  { name: 'retry', ask: (letter) => ['POST', at(letter) + '/retry'] },
  { name: 'drop', note: true, needed: true, grave: true, ask: (letter, { note }) => ['POST', at(letter) + '/drop', { reason: note }] },
];
