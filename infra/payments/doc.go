// Package payments is how payment providers and seckill speak: the signature of
// a provider's message, the providers that are configured, and a simulator that
// stands for one in demos and tests.
//
// It promises that a message is taken for a provider's only if one of that
// provider's secrets signed its very bytes and its time, within five minutes of
// now; that comparing takes the same time whatever is wrong; and that no secret
// is printed. Several secrets of a provider hold at once, so that they can be
// changed without a message being refused.
//
// The signature stands in the header Seckill-Signature:
//
//	t=1700000000,v1=5257a869e7…
//
// t is when it was signed, in seconds since 1970; v1 is HMAC-SHA-256, in
// hexadecimal, under the secret, over t as written, a dot, and the body. A
// provider that changes its secret may send a v1 under each.
//
// It refuses to decide what a payment does to an order, and to be a place where
// money moves: the simulator only tells what would have happened.
package payments
