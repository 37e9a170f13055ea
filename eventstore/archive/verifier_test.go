package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/seal"
	"seckill/infra/testenv"
)

// verifier runs docs/verify_archive.py or docs/verify_proof.py with a folder of
// seals and files.
func verifier(t *testing.T, kind string, args ...string) (code int, out string) {
	t.Helper()
	testenv.Program(t, "openssl", "openssl")
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "python3", "python3"), append([]string{"../../docs/verify_" + kind + ".py"}, args...)...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestAVerifierThatIsNotOursAgrees(t *testing.T) {
	vectors := "../../docs/vectors"
	file := filepath.Join(vectors, archive.FileName(store, 1, 3, false))
	if code, out := verifier(t, "archive", vectors, file); code != 0 || !strings.Contains(out, "holds: positions 1 to 3, 2 seals") {
		t.Errorf("the vectors: got %d %s", code, out)
	}
	records := many(20)
	seals := sealed(t, records, 10)
	dir := t.TempDir()
	folder := seal.NewFolder(dir, store)
	if err := folder.Trust(vectorKey(t).Public()); err != nil {
		t.Fatal(err)
	}
	_, err := folder.Append(func(after int64) ([]seal.Seal, error) { return seals[after:], nil })
	if err != nil {
		t.Fatal(err)
	}
	whole, digest := written(t, records, seals)
	good := filepath.Join(dir, "good.jsonl")
	if err := os.WriteFile(good, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := verifier(t, "archive", dir, good); code != 0 || !strings.Contains(out, digest.String()) {
		t.Errorf("a whole archive: got %d %s", code, out)
	}
	var files []string
	for name, content := range broken(t) {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	code, out := verifier(t, "archive", append([]string{dir}, files...)...)
	if n := strings.Count(out, "DOES NOT HOLD, read up to byte "); code != 3 || n != len(files) {
		t.Errorf("broken archives: got %d, %d of %d found\n%s", code, n, len(files), out)
	}
	for name, says := range map[string]string{
		"a record gone": "position 5 is missing", "a payload": "position 7 was changed", "a seal gone": "positions 11 to 20 are under no seal",
		"cut in a line": "it is cut off", "another form": "its first line is not that of an archive",
	} {
		_, after, _ := strings.Cut(out, strings.ReplaceAll(name, " ", "-")+": DOES NOT HOLD")
		if line, _, _ := strings.Cut(after, "\n"); !strings.Contains(line, says) {
			t.Errorf("%s: got %q, want %q", name, line, says)
		}
	}
	believesTheFolderAlone(t, folder, seals, good)
}

// believesTheFolderAlone takes from the verifier what it believes, piece by piece.
func believesTheFolderAlone(t *testing.T, folder *seal.Folder, seals []seal.Seal, good string) {
	t.Helper()
	want := func(says string) {
		t.Helper()
		if code, out := verifier(t, "archive", folder.Dir(), good); code != 3 || !strings.Contains(out, says) {
			t.Errorf("got %d %s, want 3 and %q", code, out, says)
		}
	}
	replaced := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(folder.File())
		if err == nil {
			err = os.WriteFile(folder.File(), []byte(strings.Replace(string(text), from, to, 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := folder.AcceptLoss(seal.Loss{AfterSeal: 1, Head: 10}); err != nil {
		t.Fatal(err)
	}
	want("seal 2 over positions 11 to 20 is not the one that was exported") // it counts no more
	replaced(`"number":1,`, `"number":3,`)
	want("seal 1 over positions 1 to 10 is not the one that was exported")
	replaced(`"number":3,`, `"number":1,`)
	key := filepath.Join(folder.Dir(), "key-"+seals[0].KeyID+".pem")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	want("is not signed with the trusted key " + key)
	if err := os.Remove(folder.File()); err != nil {
		t.Fatal(err)
	}
	want(folder.File()) // is missing
}

func TestTheVerifierFindsAByteChangedAnywhereThatIsHashed(t *testing.T) {
	vectors := "../../docs/vectors"
	whole, err := os.ReadFile(filepath.Join(vectors, archive.FileName(store, 1, 3, false)))
	if err != nil {
		t.Fatal(err)
	}
	unhashed := regexp.MustCompile(`"sale_id":"[^"]*","order_id":"[^"]*",`).FindAllIndex(whole, -1)
	dir := t.TempDir()
	var files []string
	for at := 0; at < len(whole); at += 11 {
		if slices.ContainsFunc(unhashed, func(span []int) bool { return span[0] <= at && at < span[1] }) {
			continue
		}
		content := bytes.Clone(whole)
		content[at] ^= 1
		file := filepath.Join(dir, "byte-"+strconv.Itoa(at))
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	code, out := verifier(t, "archive", append([]string{vectors}, files...)...)
	if n := strings.Count(out, "DOES NOT HOLD, read up to byte "); code != 3 || n != len(files) || n < 100 {
		t.Errorf("got %d, %d of %d found\n%s", code, n, len(files), out)
	}
}

func TestTheVerifierChecksProofs(t *testing.T) {
	records := many(20)
	for i := range records {
		records[i].Stream = "order-x"
	}
	var before eventstore.Hash
	for i := range records {
		before = eventstore.ComputeHash(before, &records[i])
		records[i].Hash = before
	}
	seals := sealed(t, records, 13)
	dir := t.TempDir()
	folder := seal.NewFolder(dir, store)
	if _, err := folder.Append(func(after int64) ([]seal.Seal, error) { return seals[after:], nil }); err != nil {
		t.Fatal(err)
	}
	if err := folder.Trust(vectorKey(t).Public()); err != nil {
		t.Fatal(err)
	}
	proof := seal.Proof{OrderID: "x"}
	hashes := make([]seal.Hash, len(records))
	for i := range records {
		hashes[i] = records[i].Hash
	}
	for i := range records {
		s := &seals[0]
		if records[i].Position > s.Last {
			s = &seals[1]
		}
		var previous seal.Hash
		if i > 0 {
			previous = hashes[i-1]
		}
		e, err := seal.Prove(&records[i], previous, s, hashes[s.First-1:s.Last])
		if err != nil {
			t.Fatal(err)
		}
		proof.Events = append(proof.Events, e)
	}
	proof.Seals = []seal.Wire{seals[0].Wire(), seals[1].Wire()}
	save := func(name string) string {
		text, err := json.Marshal(proof)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := save("good")
	if code, out := verifier(t, "proof", dir, good); code != 0 {
		t.Errorf("a proof that holds: got %d %s", code, out)
	}
	proof.Events[4].Path, proof.Events[5].Path = proof.Events[5].Path, proof.Events[4].Path
	path := save("path")
	proof.Events[4].Path, proof.Events[5].Path = proof.Events[5].Path, proof.Events[4].Path
	proof.Events[7].Payload = "AAAA"
	payload := save("payload")
	if code, out := verifier(t, "proof", dir, path, payload); code != 3 ||
		!strings.Contains(out, "path: DOES NOT HOLD: ValueError: event at position 5: its path") || !strings.Contains(out, "payload: DOES NOT HOLD: ValueError: event at position 8: it was changed") {
		t.Errorf("proofs that do not hold: got %d %s", code, out)
	}
}
