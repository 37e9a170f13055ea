package commands

import (
	"time"

	"seckill/domain"
)

// Receipts makes and reads the receipts of refusals. It is safe for concurrent use.
type Receipts struct {
	signer *domain.ReceiptSigner
	clock  *GateClock // may be nil
	now    func() time.Time
}

// NewReceipts makes receipts that the keys of env's store sign. clock tells the gate's
// time for refusals that no gate was asked for; it may be nil.
func NewReceipts(env *Env, clock *GateClock) *Receipts {
	return &Receipts{signer: domain.NewReceiptSigner(env.Keys), clock: clock, now: env.Now}
}

// Append appends the receipt of a refusal to dst, and fills in what r does not say: the
// time, by the clock of the gate as this node knows it, or by its own where it knows
// nothing. ok is false where there can be no receipt: see domain.ReceiptSigner.
func (r *Receipts) Append(dst []byte, of *domain.Refusal) (text []byte, ok bool) {
	if of.At.IsZero() {
		of.At, of.Bound = r.now(), domain.Unknown
		if r.clock != nil {
			if gate, bound, known := r.clock.at(of.At); known {
				of.At, of.Bound = gate, bound
			}
		}
	}
	return r.signer.Append(dst, of)
}

// RefusalOf says what is known of a refused purchase.
func (result *PurchaseResult) RefusalOf(code domain.Code, sale, buyer string, lines []domain.Line) domain.Refusal {
	r := domain.Refusal{
		Code: code, Sale: sale, Buyer: buyer, Lines: lines, At: result.Moment.At, Left: domain.Unknown, Bucket: domain.Unknown,
		Epoch: result.Moment.Epoch, Next: result.Moment.Next,
	}
	if code == domain.CodeSoldOut {
		r.Left = result.Left
	}
	if r.Epoch > 0 {
		r.Bucket = result.Moment.Bucket
	}
	return r
}
