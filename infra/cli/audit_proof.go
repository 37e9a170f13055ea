package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
)

type auditProofCmd struct {
	File  string `arg:"" help:"The proof, as GET …/orders/{order}/proof gave it."`
	Seals string `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run checks a proof against the exported seals; exit 3 when it does not hold.
func (v *auditProofCmd) Run(c console) error {
	text, err := os.ReadFile(v.File)
	if err != nil {
		return usage("read the proof: %w", err)
	}
	var proof seal.Proof
	if err := json.Unmarshal(text, &proof); err != nil {
		return usage("%s is no proof: %w", v.File, err)
	}
	return c.withEvidence(func(ctx context.Context, e *pgstore.Evidence, uuid string) error {
		folder := seal.NewFolder(firstText(v.Seals, c.settings.SealDir), uuid)
		keys, err := loadKeyring(ctx, folder, e.SealKeys)
		if err != nil {
			return err
		}
		err = proof.Check(keys.keys)
		if err == nil {
			err = compareSeals(folder, proof.Seals)
		}
		if err != nil && !errors.Is(err, seal.ErrNotProven) {
			return err
		}
		return c.printProof(proof, err, v.JSON)
	})
}

// compareSeals looks for a seal of the proof that was exported differently.
func compareSeals(folder *seal.Folder, proven []seal.Wire) error {
	byNumber := map[int64]seal.Wire{}
	for _, w := range proven {
		byNumber[w.Number] = w
	}
	return folder.Each(func(s *seal.Seal) error {
		if w, ok := byNumber[s.Number]; ok && w != s.Wire() {
			return fmt.Errorf("%w: seal %d is not the one that was exported", seal.ErrNotProven, s.Number)
		}
		return nil
	})
}

func (c console) printProof(p seal.Proof, fault error, asJSON bool) error {
	detail := ""
	if fault != nil {
		detail = fault.Error()
	}
	var err error
	switch {
	case asJSON:
		err = c.json(map[string]any{"order_id": p.OrderID, "events": len(p.Events), "ok": fault == nil, "detail": detail})
	case fault != nil:
		_, err = fmt.Fprintln(c.out, "The proof does NOT hold: "+detail+".")
	default:
		_, err = fmt.Fprintf(c.out, "The proof holds: %d events of order %s are in the log, under %d seals.\n", len(p.Events), p.OrderID, len(p.Seals))
	}
	if err == nil && fault != nil {
		err = errFound
	}
	return err
}
