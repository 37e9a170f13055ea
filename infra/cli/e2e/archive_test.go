package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/seal"
)

// An auditor has the files and the folder of exported seals, and believes nothing
// that the database says.
func TestAnArchiveIsProvedByTheExportedSealsAloneWhateverTheDatabaseNames(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	dir, files := r.exported(t, env)
	seals, empty := filepath.Join(dataDir(env), "seals"), t.TempDir()
	keysAlone := keysOf(t, seals)
	forged := r.forge(t, files[0])
	nowhere := append(env[:len(env):len(env)], "SECKILL_DATABASE_URL=postgres://127.0.0.1:1/none", "SECKILL_REDIS_URL=redis://127.0.0.1:1")
	for _, c := range []struct {
		name string
		env  []string
		args []string
		code int
		says string
	}{
		{"a good one, with no database", nowhere, []string{files[0], files[1], "--seals", seals}, 0, "holds: positions 101 to 200"},
		{"a good one, with the folder of the settings", env, files, 0, "holds: positions 101 to 200"},
		{"sealed anew with a key that the database names", env, []string{forged}, 3, "which is not in " + seals},
		{"a folder with keys and no seal", env, []string{files[0], "--seals", keysAlone}, 3, "seal 1 was not exported to " + keysAlone},
		{"a folder with nothing", env, []string{files[0], "--seals", empty}, 2, "there is no trusted key in " + empty + ": name the folder of exported seals with --seals"},
		{"a folder with nothing, in the settings", append(env[:len(env):len(env)], "SECKILL_SEAL_DIR="+empty), files, 2, "name the folder of exported seals with --seals"},
	} {
		done := Run(t, c.env, append([]string{"archive", "verify"}, c.args...)...)
		if done.Code != c.code || !strings.Contains(done.Stdout+done.Stderr, c.says) {
			t.Errorf("%s: got %d %s %s, want %d and %q", c.name, done.Code, done.Stdout, done.Stderr, c.code, c.says)
		}
	}
	for _, args := range [][]string{
		{"archive", "export", "1", "--seals", empty}, {"archive", "detach", "1", "--seals", empty},
		{"audit", "verify", "--seals", empty}, {"audit", "verify", "--archive", dir, "--seals", empty},
	} {
		wantOneSentence(t, Run(t, env, args...), 2, "there is no trusted key in "+empty)
	}
	for _, command := range []string{"export", "detach"} {
		wantOneSentence(t, Run(t, env, "archive", command, "1", "--seals", keysAlone), 1, "stays as it is: seal 1 was not exported to "+keysAlone)
	}
	if list := Run(t, env, "archive", "list", "--json").Stdout; strings.Contains(list, "detach") {
		t.Errorf("after refusals: got %s, want nothing detached", list)
	}
}

func TestAnAuditSaysWhoseKeysAndSealsItBelieved(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	sealedLog(t, r, env)
	seals, empty := filepath.Join(dataDir(env), "seals"), t.TempDir()
	keysAlone := keysOf(t, seals)
	for dir, says := range map[string]string{
		seals:     "checked with the keys and seals in " + seals,
		keysAlone: "checked with the keys in " + keysAlone + " and the seals in the database, as none was exported there",
		empty:     "checked with keys and seals of the database alone",
	} {
		done := Run(t, append(env[:len(env):len(env)], "SECKILL_SEAL_DIR="+dir), "audit", "verify")
		if done.Code != 0 || !strings.Contains(done.Stdout, says) || strings.Contains(done.Stdout, "Note: ") != (dir == empty) {
			t.Errorf("%s: got %d %s %s, want %q, and a note for the last", dir, done.Code, done.Stdout, done.Stderr, says)
		}
	}
}

func TestAByteChangedInAnArchiveIsFoundAndItsPlaceNamed(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	_, files := r.exported(t, env)
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, []byte(`"position":50,`))
	at += bytes.Index(content[at:], []byte(`"payload":"`)) + len(`"payload":"`)
	content[at] ^= 1
	if err := os.WriteFile(files[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	done := Run(t, env, "archive", "verify", files[1], files[0])
	if done.Code != 3 || !strings.Contains(done.Stdout, files[0]+" does NOT hold: positions 1 to 100, behind position 49: ") || !strings.Contains(done.Stdout, files[1]+" holds") {
		t.Errorf("got %d %s %s, want the place in the first file alone", done.Code, done.Stdout, done.Stderr)
	}
	code, out := verifyPy(t, "archive", filepath.Join(dataDir(env), "seals"), files...)
	if code != 3 || !strings.Contains(out, "position 50 was changed") || strings.Count(out, "DOES NOT HOLD") != 1 {
		t.Errorf("verify_archive.py: got %d %s, want position 50 named", code, out)
	}
}

// exported makes a sealed log and gives the archives of its two closed parts, and
// their folder.
func (r *Rig) exported(t *testing.T, env []string) (dir string, files []string) {
	t.Helper()
	sealedLog(t, r, env)
	dir = t.TempDir()
	if done := Run(t, env, "archive", "export", "--dir", dir); done.Code != 0 {
		t.Fatalf("export: got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("exported: got %v, %v", files, err)
	}
	return dir, files
}

// forge seals the records of an archive anew with a key that only the database
// knows, and gives the file.
func (r *Rig) forge(t *testing.T, file string) string {
	t.Helper()
	key, err := seal.NewKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	r.asSuperuser(t, fmt.Sprintf("insert into seal_keys (key_id, public_key) values ('%s', decode('%s', 'base64'))",
		key.ID(), base64.StdEncoding.EncodeToString(key.Public())))
	var records []eventstore.Record
	s, err := archive.ReadFile(file, func(record *eventstore.Record, _ int64) error {
		records = append(records, *record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Seals {
		if i > 0 {
			s.Seals[i].Previous = s.Seals[i-1].Hash()
		}
		s.Seals[i].Sign(key)
	}
	forged := filepath.Join(t.TempDir(), filepath.Base(file))
	err = archive.Create(forged, func(w io.Writer) error {
		_, _, err := archive.Write(w, s.Header, func(do func(*eventstore.Record) error) error {
			for i := range records {
				if err := do(&records[i]); err != nil {
					return err
				}
			}
			return nil
		}, s.Seals)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return forged
}
