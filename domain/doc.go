// Package domain says what a sale, a stock and an order are: which events
// happen to them, what may be decided, and how a person is told no.
//
// It promises to be pure: no clock, no randomness, no driver, nothing of ours
// imported. Times, random bits and keys are handed in; the same events always
// fold to the same state, today and in ten years.
//
// # Stored forms
//
// What is stored is written by hand and held by golden files, so that renaming
// a Go type never touches the log:
//
//   - Events: a JSON object. The names stand in names.go, the fields in events_*.go,
//     every payload ever written in testdata/events and what it folds to in
//     testdata/states. Ids and amounts are text, times RFC 3339 with an offset,
//     other numbers whole and small enough for every reader.
//   - An amount: {"amount":"19.90","currency":"CNY"}, with as many decimals as
//     ISO 4217 gives the currency; null where there is none.
//   - A sale id: 40 bits as 8 characters of Crockford's base32 in small letters.
//   - An order id: 45 characters of the same alphabet for 28 bytes: key number
//     (1), store (1), lane (1), bucket (2), sale number (5), random (10), and the
//     first 8 bytes of HMAC-SHA-256 over all of these and the buyer id. Numbers
//     are big-endian.
//   - A receipt of a refusal: 76 characters of base64url for 57 bytes: form (1), key
//     number, code number, sale number (5), keyed hash of the buyer (8), time in
//     microseconds (8), its bound in milliseconds (2), units left (4), hash of the item
//     (2), quantity (1), bucket (2), epoch (5), next entry (5), and the first 12 bytes of
//     HMAC-SHA-256 over all of these by a key derived for receipts. It is stored by buyers.
//   - Lane and home bucket: the values in testdata/places.json.
//   - An entry id: epoch-n, or epoch-n.i for a purchase in it.
//   - A digest: SHA-1 in hexadecimal over the digest before and the body of the
//     entry, the first of an epoch over lane and epoch in decimal. FirstDigest(17, 3)
//     is 572e20738130fddc7c389f2ab14f4e4b22a97c39.
//
// A new event type costs its struct in events_*.go, two lines in names.go and its
// golden payload. A new version of a payload costs the change there and,
// in names.go, the step that brings the version before up to it (upcasters.go); the
// golden payloads of older versions stay. An optional field that older readers may
// overlook needs no version, only a further golden payload. After each of these
// docs/events.md is written again: go test ./docs -update.
package domain
