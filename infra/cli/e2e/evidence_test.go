package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/commands"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/eventstore/storetest"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

// verifyPy runs a verifier in docs, which is not ours, on archives or proofs.
func verifyPy(t *testing.T, kind, seals string, files ...string) (code int, out string) {
	t.Helper()
	testenv.Program(t, "openssl", "openssl")
	cmd := exec.Command(testenv.Program(t, "python3", "python3"), append([]string{"../../../docs/verify_" + kind + ".py", seals}, files...)...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func dataDir(env []string) string {
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "SECKILL_DATA_DIR="); ok {
			return dir
		}
	}
	return ""
}

func TestABuyerProvesTheOwnOrderAndAnAuditorTheWholeLog(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=300ms", "SECKILL_SEAL_EVERY=10")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 20)
	client.buy(t, sale, "buyer", 15)
	bought, err := client.Buy(sale, "buyer-7", "key-buyer-7")
	order := bought.Text("order_id")
	if err != nil || order == "" {
		t.Fatalf("meet the own order: %+v, %v", bought, err)
	}
	var proof Answer
	testenv.Eventually(t, 30*time.Second, func() error {
		proof, err = client.Order("buyer-7", order, "/proof")
		if err == nil && proof.Status != http.StatusOK {
			err = errStatus(proof)
		}
		return err
	})
	if other, err := client.Order("buyer-8", order, "/proof"); err != nil || other.Status != http.StatusNotFound || other.Text("code") != "order_not_found" {
		t.Errorf("another's proof: got %+v, %v, want 404", other, err)
	}
	seals := filepath.Join(dataDir(env), "seals")
	good, bad := filepath.Join(t.TempDir(), "good.json"), filepath.Join(t.TempDir(), "bad.json")
	touched := strings.Replace(proof.Raw, `"version":1`, `"version":2`, 1)
	for file, text := range map[string]string{good: proof.Raw, bad: touched} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]int{good: 0, bad: 3} {
		if done := Run(t, env, "audit", "verify-proof", file); done.Code != want {
			t.Errorf("verify-proof: got %d %s %s, want %d", done.Code, done.Stdout, done.Stderr, want)
		}
		if code, out := verifyPy(t, "proof", seals, file); code != want {
			t.Errorf("verify_proof.py: got %d %s, want %d", code, out, want)
		}
	}
	proofsWithoutWitness(t, env, seals, good)
	for _, wrong := range [][]string{{"--from", "5", "--to", "2"}, {"--from=-1"}, {"--seals", "/nowhere"}, {"--archive", "/nowhere"}} {
		wantOneSentence(t, Run(t, env, append([]string{"audit", "verify"}, wrong...)...), 2, "--")
	}
	wantOneSentence(t, Run(t, env, "audit", "verify", "--from", "5000000"), 2, "there is nothing from position 5000000 on")
	wantOneSentence(t, Run(t, env, "audit", "accept-loss", "--reason", "  "), 2, "--reason is empty")
	var report commands.AuditReport
	done := Run(t, env, "audit", "verify", "--json")
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil || done.Code != 0 || !report.OK || report.Events < 32 || report.SealedTo == 0 {
		t.Errorf("audit verify: got %d %+v %s, %v", done.Code, report, done.Stderr, err)
	}
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale, map[string]string{order: "buyer-7"})
	if code := child.Stop(); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	r.asSuperuser(t, "alter table events_000000000001 disable trigger all", "update events_000000000001 set payload = overlay(payload placing 'X' from 9) where position = 5")
	done = Run(t, env, "audit", "verify")
	if done.Code != 3 || !strings.Contains(done.Stdout, "does NOT hold") || !strings.Contains(done.Stdout, "append-only is off") {
		t.Errorf("after a change: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
}

// proofsWithoutWitness checks a good proof where nobody may believe it, and where
// there is no database.
func proofsWithoutWitness(t *testing.T, env []string, seals, good string) {
	t.Helper()
	nowhere := append(env[:len(env):len(env)], "SECKILL_DATABASE_URL=postgres://127.0.0.1:1/none", "SECKILL_REDIS_URL=redis://127.0.0.1:1")
	if done := Run(t, nowhere, "audit", "verify-proof", good, "--seals", seals); done.Code != 0 {
		t.Errorf("without a database: got %d %s %s, want it to hold by the folder alone", done.Code, done.Stdout, done.Stderr)
	}
	wantOneSentence(t, Run(t, env, "audit", "verify-proof", good, "--seals", t.TempDir()), 2, "name the folder of exported seals with --seals")
	keysAlone := keysOf(t, seals)
	done := Run(t, env, "audit", "verify-proof", good, "--seals", keysAlone)
	if done.Code != 3 || !strings.Contains(done.Stdout, "was not exported to "+keysAlone) || strings.Contains(done.Stdout, "the proof does not hold") {
		t.Errorf("a seal that was not exported: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
}

// keysOf gives a folder with the trusted keys of another, and no seal.
func keysOf(t *testing.T, seals string) string {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(seals, "key-*.pem"))
	if err != nil || len(keys) == 0 {
		t.Fatalf("trusted keys: got %v, %v", keys, err)
	}
	alone := t.TempDir()
	text, err := os.ReadFile(keys[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(alone, filepath.Base(keys[0])), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return alone
}

func TestAnEmptyLogIsCalledEmptyAndALostPartHasItsFirstPosition(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	if done := Run(t, env, "audit", "verify"); done.Code != 0 || !strings.Contains(done.Stdout, "The log is empty") {
		t.Errorf("an empty log: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	if done := Run(t, env, "audit", "verify", "--json"); done.Code != 0 || !strings.Contains(done.Stdout, `"events":0`) || !strings.Contains(done.Stdout, `"ok":true`) {
		t.Errorf("an empty log, as JSON: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	sealedLog(t, r, env)
	r.asSuperuser(t, "grant update on events to public")
	if done := Run(t, env, "audit", "verify"); done.Code != 3 || !strings.Contains(done.Stdout, "the role public may update what is in events") {
		t.Errorf("update granted: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	r.asSuperuser(t, "revoke update on events from public")
	r.asSuperuser(t, "alter table events detach partition events_000000000101")
	var report commands.AuditReport
	done := Run(t, env, "audit", "verify", "--json")
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil || done.Code != 3 {
		t.Fatalf("a partition detached: got %d %s %s, %v", done.Code, done.Stdout, done.Stderr, err)
	}
	for _, f := range report.Faults {
		if f.Kind == "table" && f.Position == 101 {
			return
		}
	}
	t.Errorf("a partition detached: got %+v, want a fault of the table at position 101", report.Faults)
}

// asSuperuser does what only the superuser of the database can.
func (r *Rig) asSuperuser(t *testing.T, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range append([]string{"set search_path = " + r.Namespace}, statements...) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func TestANodeSaysThatItIsNotReadyWhenAPartitionOfTheLogIsGone(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	child := ServeRig(t, r)
	r.asSuperuser(t, "alter table events disable trigger all")
	testenv.Eventually(t, 20*time.Second, func() error {
		if err := child.Ready(); err == nil || !strings.Contains(err.Error(), "log_tables") {
			return fmt.Errorf("got %v, want it not ready for its tables", err)
		}
		return nil
	})
}

// An older dump is restored where newer seals were exported.
func TestADumpOlderThanTheExportedSealsIsRefusedUntilTheLossIsAccepted(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	r := rigOn(t, first.URL, redis)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=200ms", "SECKILL_SEAL_EVERY=8")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 40)
	client.buy(t, sale, "early", 6)
	older := dump(first, "older")
	client.buy(t, sale, "late", 6)
	awaitSealed(t, r)
	child.Stop()
	r.Pool.Close()
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, older)
	r = rigOn(t, second.URL, redis)
	env = append(env, "SECKILL_DATABASE_URL="+second.URL, "SECKILL_HTTP_ADDR=127.0.0.1:0")
	wantOneSentence(t, Run(t, env, "serve"), 1, "seckill audit accept-loss")
	done := Run(t, env, "audit", "verify")
	if done.Code != 3 || !strings.Contains(done.Stdout, "was exported and is not in the database") {
		t.Errorf("audit verify: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	if done := Run(t, env, "audit", "accept-loss", "--reason", "the cluster burnt"); done.Code != 0 {
		t.Fatalf("accept-loss: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	child = Serve(t, ChildOptions{Env: env})
	client = NewClient(child.URL)
	client.buy(t, sale, "after", 3)
	awaitSealed(t, r)
	if done := Run(t, env, "audit", "verify"); done.Code != 0 {
		t.Errorf("audit verify after it was accepted: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	StandingChecks(t, rigOn(t, second.URL, redis).Node(t, NodeOptions{APIOnly: true}), sale, nil)
}

// awaitSealed waits until the head is under a seal.
func awaitSealed(t *testing.T, r *Rig) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		var open int64
		err := r.Pool.QueryRow(context.Background(), `
select (select max(position) from events) - (select coalesce(max(last_position), 0) from seals)`).Scan(&open)
		if err == nil && open > 0 {
			err = fmt.Errorf("%d events are under no seal", open)
		}
		return err
	})
}

func TestAPartOfTheLogIsExportedDetachedAndStillProved(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	store := sealedLog(t, r, env)
	list := func() string { return Run(t, env, "archive", "list", "--json").Stdout }
	want := func(code int, says string, args ...string) string {
		t.Helper()
		done := Run(t, env, args...)
		if done.Code != code || !strings.Contains(done.Stdout+done.Stderr, says) {
			t.Fatalf("seckill %s: got %d %s %s, want %d and %q", strings.Join(args, " "), done.Code, done.Stdout, done.Stderr, code, says)
		}
		return done.Stdout
	}
	want(1, "was not exported", "archive", "detach", "1")
	var exported struct{ Parts []struct{ File string } }
	if err := json.Unmarshal([]byte(want(0, "exported", "archive", "export", "--gzip", "--json")), &exported); err != nil || len(exported.Parts) != 2 {
		t.Fatalf("export: got %+v, %v, want the two closed parts", exported, err)
	}
	files := []string{exported.Parts[0].File, exported.Parts[1].File}
	want(0, "positions 101 to 200", append([]string{"archive", "verify"}, files...)...)
	if code, out := verifyPy(t, "archive", filepath.Join(dataDir(env), "seals"), files...); code != 0 {
		t.Errorf("verify_archive.py: got %d %s", code, out)
	}
	want(1, "the oldest goes first", "archive", "detach", "101")
	want(1, "the oldest goes first", "archive", "detach", "201")
	late := func(sql string) {
		t.Helper()
		if _, err := r.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	late(`insert into checkpoints (projection, version, store, shard, position, hash, applied_at) values ('order_view', 1, 1, 3, 99, sha256(''), now())`)
	want(1, "order_view has read the log up to position 99 only, and the part ends at 100", "archive", "detach", "1")
	late(`delete from checkpoints`)
	want(0, "out of the log", "archive", "detach", "1")
	if got := list(); !strings.Contains(got, `"state":"detached"`) || !strings.Contains(got, `"state":"exported"`) || !strings.Contains(got, `"state":"open"`) {
		t.Errorf("list: got %s", got)
	}
	want(1, files[0], "replay")
	want(0, `"position":101`, "replay", "--from", "101", "--to", "101", "--json")
	if _, err := store.ReadStream(t.Context(), "order-0", 0, 10); err == nil || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("a stream of the part: got %v, want where it is", err)
	}
	if got, err := store.ReadStream(t.Context(), "order-4", 0, 10); err != nil || len(got) != 10 {
		t.Errorf("another stream: got %d records, %v", len(got), err)
	}
	want(0, "positions 1 to 100 are archived and were not read", "audit", "verify")
	want(2, "give --archive", "audit", "verify", "--to", "50")
	archives := filepath.Dir(files[0])
	want(0, "250 events from position 1 to 250", "audit", "verify", "--archive", archives)
	want(1, "positions 1 to 100 are archived", "rebuild", "stock_log")
	want(1, "no archive of positions 1 to 100", "rebuild", "stock_log", "--archive", t.TempDir())
	want(0, "250 events up to position 250", "rebuild", "stock_log", "--archive", archives)
	r.putBack(t)
	want(0, "250 events from position 1 to 250", "audit", "verify")
	storetest.MustSubmit(t, store, storetest.Plain(storetest.To("order-5", 0, storetest.NewEvent("order.placed"))), eventstore.Stored)

	content, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], bytes.Replace(content, content[100:101], []byte{content[100] ^ 1}, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if done := Run(t, env, "archive", "detach", "101"); done.Code == 0 {
		t.Error("a part whose file is broken was detached")
	}
}

// putBack does what docs/archive.md says of the way back.
func (r *Rig) putBack(t *testing.T) {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/archive.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sql, ok := strings.Cut(string(doc), "```sql\n")
	sql, _, ok2 := strings.Cut(sql, "```")
	if !ok || !ok2 {
		t.Fatal("docs/archive.md says no way back")
	}
	r.asSuperuser(t, strings.ReplaceAll(strings.ReplaceAll(sql, "seckill.", r.Namespace+"."), "1000001", "101"))
}

// sealedLog makes a log of 250 events without a sale in parts of 100, sealed.
func sealedLog(t *testing.T, r *Rig, env []string) *pgstore.Store {
	t.Helper()
	store, err := pgstore.New(r.Pool, r.Namespace, pgstore.Options{PartitionSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for i := range 5 {
		events := storetest.NewEvents("order.placed", 50)
		for j := range events {
			events[j].SaleID, events[j].OrderID, events[j].Payload = "", "", []byte(`{}`)
		}
		storetest.MustSubmit(t, store, storetest.Plain(storetest.To(fmt.Sprintf("order-%d", i), 0, events...)), eventstore.Stored)
	}
	id, err := pg.LoadIdentity(t.Context(), r.Pool)
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.LoadOrMakeKey(filepath.Join(dataDir(env), "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	folder := seal.NewFolder(filepath.Join(dataDir(env), "seals"), id.UUID.String())
	node := &commands.Env{Store: 1, Now: time.Now, NewID: uuid.New, Log: slog.New(slog.DiscardHandler)}
	sealer := commands.NewSealer(node, store, id.UUID.String(), key, folder, commands.SealerOptions{Every: 40, After: time.Nanosecond})
	for range 2 {
		if err := sealer.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return store
}
