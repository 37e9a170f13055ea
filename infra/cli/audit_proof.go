package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"seckill/eventstore/seal"
)

type auditProofCmd struct {
	File  string `arg:"" help:"The proof, as GET …/orders/{order}/proof gave it."`
	Seals string `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run checks a proof against the exported seals and the keys beside them, and asks
// nothing else: the database may be in the hands of who forged it. Exit 3 when it
// does not hold.
func (v *auditProofCmd) Run(c console) error {
	text, err := os.ReadFile(v.File)
	if err != nil {
		return usage("read the proof: %w", err)
	}
	var proof seal.Proof
	if err := json.Unmarshal(text, &proof); err != nil {
		return usage("%s is no proof: %w", v.File, err)
	}
	w, err := openWitness(seal.NewFolder(firstText(v.Seals, c.settings.SealDir), storeOf(&proof)))
	if err != nil {
		return err
	}
	if err = w.check(&proof); err != nil && !errors.Is(err, seal.ErrNotProven) {
		return err
	}
	return c.printProof(proof, err, v.JSON)
}

// storeOf gives the event store that a proof says it is of.
func storeOf(p *seal.Proof) string {
	names := make([]string, len(p.Seals))
	for i, w := range p.Seals {
		names[i] = w.Store
	}
	return storeName(names...)
}

// check is whether the proof proves its events, by the keys and seals of w.
func (w witness) check(p *seal.Proof) error {
	if err := p.Check(w.keys); err != nil {
		return err
	}
	what, err := w.compare(p.Seals)
	if err == nil && what != "" {
		err = fmt.Errorf("%w: %s", seal.ErrNotProven, what)
	}
	return err
}

func (c console) printProof(p seal.Proof, fault error, asJSON bool) error {
	detail := ""
	if fault != nil {
		detail = strings.TrimPrefix(fault.Error(), seal.ErrNotProven.Error()+": ")
	}
	var err error
	switch {
	case asJSON:
		err = c.json(map[string]any{"order_id": p.OrderID, "events": len(p.Events), "ok": fault == nil, "detail": detail})
	case fault != nil:
		_, err = fmt.Fprintln(c.out, "The proof does NOT hold: "+detail+".")
	default:
		_, err = fmt.Fprintf(c.out, "The proof holds: %s of order %s in the log, under %s.\n", countOf(int64(len(p.Events)), "event"), p.OrderID, countOf(int64(len(p.Seals)), "seal"))
	}
	if err == nil && fault != nil {
		err = errFound
	}
	return err
}

// countOf says how many there are of something: "1 seal", "2 seals".
func countOf(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
