package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

// waysAround are statements that would change the log, one by one, each as the
// application; %s is the namespace, p a partition that was there and q one that
// was made later.
var waysAround = []string{
	"update %s.events set type = 'x'",
	"update %s.p set type = 'x'",
	"update only %s.events set type = 'x'",
	"update %s.q set payload = '' where position = 101",
	"delete from %s.events",
	"delete from %s.p where position = 1",
	"delete from %s.q where false",
	"with gone as (delete from %s.events returning 1) select count(*) from gone",
	"merge into %s.events e using (values (1)) n(position) on e.position = n.position when matched then delete",
	"merge into %s.events e using (values (1)) n(position) on e.position = n.position when matched then update set type = 'x'",
	"insert into %s.events select * from %s.events where position = 1 on conflict (position) do update set type = 'x'",
	"truncate %s.events", "truncate only %s.events", "truncate %s.p", "truncate %s.q cascade",
	"drop table %s.events", "drop table %s.p", "drop table %s.events cascade", "drop schema %s cascade",
	"alter table %s.events detach partition %s.p", "alter table %s.events detach partition %s.p concurrently",
	"alter table %s.events disable trigger all", "alter table %s.p disable trigger user", "alter table %s.p disable trigger p_append_only",
	"drop trigger events_append_only on %s.events", "drop trigger p_append_only on %s.p",
	"alter table %s.events rename to old", "alter table %s.events add column x int", "alter table %s.events drop column hash",
	"alter table %s.p no inherit %s.events", "alter table %s.events owner to current_user",
	"alter function %s.refuse_change() rename to allow_change", "drop function %s.refuse_change() cascade",
	"create or replace function %s.refuse_change() returns trigger language plpgsql as 'begin return null; end'",
	"set session_replication_role = replica", "set local session_replication_role = replica",
	"create rule allow as on update to %s.events do instead nothing", "create rule allow as on delete to %s.p do also select 1",
	"create trigger mine before insert on %s.events for each row execute function %s.refuse_change()",
	"create policy mine on %s.events using (true)", "alter table %s.events enable row level security",
	"create table %s.mine (position bigint)", "create table %s.child partition of %s.events for values from (900000) to (900001)",
	"insert into %s.p select * from %s.events where position = 1",
	"insert into %s.p (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash) select 999, gen_random_uuid(), 's', 1, 't', 1, '', '', now(), '', '', hash from %s.events limit 1",
	"copy %s.p from stdin", "copy %s.events to program 'true'",
	"update %s.events_json set type = 'x'", "delete from %s.events_json", "insert into %s.events_json (position) values (1)",
	"select * from %s.events for update", "do $$ begin lock table %s.events in access exclusive mode; end $$",
	"create index mine on %s.events (type)", "reindex table %s.p", "cluster %s.events using events_position",
	"set role %s_owner", "reset role; update %s.events set type = 'x'",
	"update %s.event_partitions set next_position = 1", "delete from %s.event_partitions", "insert into %s.event_partitions values (900000, 900001, 'x')",
	"update %s.seals set root = head", "delete from %s.seals", "truncate %s.seals", "update %s.seal_keys set key_id = 'x'", "delete from %s.log_losses",
	"update %s.archives set file = 'x'", "delete from %s.archived_streams", "select %s.tune_partition('events_json')",
	"update %s.store set number = 2", "update %s.order_keys set number = 2",
}

func TestTheApplicationHasNoWayToChangeTheLog(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{PartitionSize: 100})
	for i := range 3 {
		storetest.MustSubmit(t, store, storetest.Plain(storetest.To(fmt.Sprintf("order-%d", i), 0, storetest.NewEvents("order.placed", 60)...)), eventstore.Stored)
	}
	before := storetest.ReadAll(t, store)
	app := applicationLogin(t, url, ns)
	replace := strings.NewReplacer("%s", ns, ns+".p ", ns+".events_000000000001 ")
	for _, way := range waysAround {
		sql := replace.Replace(way + " ")
		for short, name := range map[string]string{"p": "events_000000000001", "q": "events_000000000101"} {
			sql = strings.ReplaceAll(sql, ns+"."+short+" ", ns+"."+name+" ")
			sql = strings.ReplaceAll(sql, " "+short+"_append_only", " "+name+"_append_only")
		}
		_, err := app.Exec(t.Context(), sql)
		if state := pg.SQLState(err); state != "42501" && state != "42809" && state != "55000" {
			t.Errorf("%s: got %v, want it refused for want of a right", sql, err)
		}
	}
	after := storetest.ReadAll(t, store)
	if len(before) != len(after) || before[179].Hash != after[179].Hash {
		t.Errorf("got %d events, want the same %d", len(after), len(before))
	}
}

// applicationLogin connects as a login of its own that is only a member of the
// application's role: a superuser's session could take its rights back.
func applicationLogin(t *testing.T, url, ns string) *pgx.Conn {
	t.Helper()
	login := ns + "_login"
	if _, err := owner(t, url).Exec(t.Context(), "create role "+login+" login password 'x' in role "+pg.AppRole(ns)); err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = login, "x"
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestWhatASuperuserDoesToTheTablesIsNoticed(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"nothing":                    {"select 1", ""},
		"a partition dropped":        {"drop table events_000000000001", "is not part of the log any more"},
		"a partition detached":       {"alter table events detach partition events_000000000001", "is not part of the log any more"},
		"a foreign partition":        {"create table events_x partition of events for values from (5000) to (6000)", "events_x is part of the log and should not be"},
		"a trigger off":              {"alter table events_000000000101 disable trigger all", "events_000000000101 append-only is off"},
		"a trigger no longer always": {"alter table events enable trigger events_append_only", "events append-only is off"},
		"a trigger dropped":          {"drop trigger events_000000000001_append_only on events_000000000001", "events_000000000001 append-only is gone"},
		"the seals' trigger off":     {"alter table seals disable trigger all", "seals append-only is off"},
	} {
		t.Run(name, func(t *testing.T) {
			pool, url, ns := pgtest.New(t)
			store := start(t, pool, ns, pgstore.Options{PartitionSize: 100})
			storetest.MustSubmit(t, store, storetest.Plain(storetest.To("order-a", 0, storetest.NewEvents("order.placed", 150)...)), eventstore.Stored)
			if _, err := owner(t, url).Exec(t.Context(), "set search_path = "+ns+"; "+c.sql); err != nil {
				t.Fatal(err)
			}
			got, err := store.Guarded(t.Context())
			if err != nil || (c.want == "") != (len(got) == 0) || (c.want != "" && !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestEveryPartitionIsVacuumedAsATableThatIsOnlyInsertedInto(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{PartitionSize: 100})
	storetest.MustSubmit(t, store, storetest.Plain(storetest.To("order-a", 0, storetest.NewEvents("order.placed", 250)...)), eventstore.Stored)
	var tuned, all int
	err := pool.QueryRow(t.Context(), `
select count(*) filter (where c.reloptions @> array['autovacuum_freeze_min_age=0', 'autovacuum_vacuum_insert_scale_factor=0']), count(*)
from event_partitions p join pg_class c on c.relname = p.name and c.relnamespace = $1::regnamespace`, ns).Scan(&tuned, &all)
	if err != nil || all < 3 || tuned != all {
		t.Errorf("got %d of %d partitions tuned, %v", tuned, all, err)
	}
}
