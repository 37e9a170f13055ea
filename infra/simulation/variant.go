package simulation

// Variant is a way in which the system is broken on purpose, in the ports between a
// process and a store: each takes one promise away that the design rests on.
type Variant string

// Variants. Each is played in weather in which it can show.
const (
	Sound Variant = ""
	// ForgottenJournal: the gate accepts some purchases without an entry that could be
	// read again.
	ForgottenJournal Variant = "forgotten-journal"
	// NoFence: the recorder does not compare the lane's cursor under the lock, but takes
	// it to stand where it was read last.
	NoFence Variant = "no-fence"
	// SkippedTail: a recovery does not read the end of the journal.
	SkippedTail Variant = "skipped-tail"
	// NoDedupe: a projection applies what its checkpoint covers already.
	NoDedupe Variant = "no-dedupe"
	// SameServer: a gate that fell back cannot be told from the one before.
	SameServer Variant = "same-server"
	// ApplyTwice: a page of events that comes to the gate twice is applied twice.
	ApplyTwice Variant = "apply-twice"
)

// Variants lists every variant but the sound one.
func Variants() []Variant {
	return []Variant{ForgottenJournal, NoFence, SkippedTail, NoDedupe, SameServer, ApplyTwice}
}
