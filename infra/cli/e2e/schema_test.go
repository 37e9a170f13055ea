package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"

	"seckill/commands"
)

// B50
func TestB50AWorkerOnASchemaThatIsOneVersionBehindRefusesToStart(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{APIOnly: true})
	sale, err := n.Operator.Schedule(t.Context(), Terms(5), commands.Actor{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	n.Stop()
	before := tables(t, r)
	r.setSchemaVersion(t, -1)
	env := append(r.Settings(t), "SECKILL_HTTP_ADDR=127.0.0.1:0")
	for _, roles := range []string{"recorder", "relay", "projector", "scheduler", "api", "api,recorder,relay,projector,scheduler"} {
		wantOneSentence(t, Run(t, env, "serve", "--roles", roles), 1, "seckill migrate up")
	}
	wantOneSentence(t, Run(t, env, "replay"), 1, "seckill migrate up")
	r.setSchemaVersion(t, +1)
	if after := tables(t, r); !maps.Equal(before, after) {
		t.Errorf("a worker that refused to start changed something: got %v, want %v", after, before)
	}
	child := ServeRig(t, r) // the counter-proof: with the schema that fits it works
	NewClient(child.URL).buy(t, sale.ID, "b", 1)
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale.ID, nil)
	r.setSchemaVersion(t, +1)
	wantOneSentence(t, Run(t, env, "serve", "--roles", "recorder"), 1, "newer seckill")
}

// setSchemaVersion changes by what the schema says of itself.
func (r *Rig) setSchemaVersion(t *testing.T, by int) {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(context.WithoutCancel(t.Context()))
	if _, err := owner.Exec(t.Context(), fmt.Sprintf("update %s.schema_version set version = version + $1", r.Namespace), by); err != nil {
		t.Fatal(err)
	}
}
