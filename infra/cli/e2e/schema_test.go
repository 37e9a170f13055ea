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

// B50, the reverse: the migration of a later release, which only adds, comes while an
// older program sells. It goes on, starts again, and leaves the schema as it is; once
// the schema says that it is for later programs alone, it does not start.
func TestB50AProgramWorksOnANewerSchemaThatSaysItMay(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	child := ServeRig(t, r)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 30)
	client.buy(t, sale, "before", 5)
	r.owner(t, `do $$ declare t regclass; begin
	for t in select c.oid from pg_class c where c.relnamespace = '%[1]s'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_version' loop
		execute format('alter table %%s add column of_a_later_release text, add column counted_later bigint not null default 0', t);
	end loop; end $$;
	create table %[1]s.of_a_later_release (a int);
	insert into %[1]s.schema_compatibility (version, oldest_program) select version + 1, version from %[1]s.schema_version;
	update %[1]s.schema_version set version = version + 1`)
	client.buy(t, sale, "after", 5)
	child.Restart()
	client.buy(t, sale, "again", 5)
	env := append(r.Settings(t), "SECKILL_HTTP_ADDR=127.0.0.1:0")
	for _, args := range [][]string{{"migrate", "status"}, {"migrate", "up"}, {"reconcile"}, {"audit", "verify"}, {"rebuild", "--all"}} {
		if done := Run(t, env, args...); done.Code != 0 {
			t.Errorf("%v on a newer schema: exit code %d, %s%s", args, done.Code, done.Stdout, done.Stderr)
		}
	}
	node := r.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, node, sale, nil)
	if f := readFold(t, node.Store); f.placed(sale) != 15 {
		t.Errorf("%d orders are placed, want 15", f.placed(sale))
	}
	r.owner(t, "update %[1]s.schema_compatibility set oldest_program = version where version = (select version from %[1]s.schema_version)")
	wantOneSentence(t, Run(t, env, "serve"), 1, "newer seckill")
}

// owner runs a statement as the owner of the schema, whose name it takes.
func (r *Rig) owner(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), fmt.Sprintf(sql, r.Namespace)); err != nil {
		t.Fatal(err)
	}
}

// setSchemaVersion changes by what the schema says of itself.
func (r *Rig) setSchemaVersion(t *testing.T, by int) {
	t.Helper()
	r.owner(t, fmt.Sprintf("update %%[1]s.schema_version set version = version + (%d)", by))
}
