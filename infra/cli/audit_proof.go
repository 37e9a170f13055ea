package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

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
	folder := seal.NewFolder(firstText(v.Seals, c.settings.SealDir), storeOf(&proof))
	keys, err := folder.Keys()
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return usage("there is no trusted key in %s: name the folder of exported seals with --seals", folder.Dir())
	}
	if err = proof.Check(keys); err == nil {
		err = compareSeals(folder, proof.Seals)
	}
	if err != nil && !errors.Is(err, seal.ErrNotProven) {
		return err
	}
	return c.printProof(proof, err, v.JSON)
}

// storeOf gives the event store that a proof says it is of, if it is the name of
// one.
func storeOf(p *seal.Proof) string {
	for _, w := range p.Seals {
		if id, err := uuid.Parse(w.Store); err == nil {
			return id.String()
		}
	}
	return uuid.Nil.String()
}

// compareSeals looks for a seal of the proof that was not exported, or differently.
func compareSeals(folder *seal.Folder, proven []seal.Wire) error {
	exported := make(map[int64]seal.Wire, len(proven))
	for _, w := range proven {
		exported[w.Number] = seal.Wire{}
	}
	err := folder.Each(func(s *seal.Seal) error {
		if _, asked := exported[s.Number]; asked {
			exported[s.Number] = s.Wire()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range proven {
		switch exported[w.Number] {
		case w:
		case seal.Wire{}:
			return fmt.Errorf("%w: seal %d was not exported to %s", seal.ErrNotProven, w.Number, folder.Dir())
		default:
			return fmt.Errorf("%w: seal %d is not the one that was exported", seal.ErrNotProven, w.Number)
		}
	}
	return nil
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
