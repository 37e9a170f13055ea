package cli

import (
	"errors"
	"fmt"
	"strings"

	"seckill/eventstore/archive"
	"seckill/eventstore/seal"
)

type archiveVerifyCmd struct {
	File  []string `arg:"" help:"Files to check."`
	Seals string   `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

// Run checks files against the exported seals and the keys beside them, and asks
// nothing else: the database may be in the hands of who forged them. Exit 3 when
// one does not hold.
func (v *archiveVerifyCmd) Run(c console) error {
	dir := firstText(v.Seals, c.settings.SealDir)
	if _, err := openWitness(seal.NewFolder(dir, storeName())); err != nil {
		return err // before long files are read
	}
	found := false
	for _, file := range v.File {
		s, what, err := checkArchive(file, dir)
		if err != nil {
			return err
		}
		found = found || what != ""
		if err := c.printArchive(file, s, what, v.JSON); err != nil {
			return err
		}
	}
	if found {
		return errFound
	}
	return nil
}

// checkArchive reads a file whole and says what is wrong with it, "" when it is
// what the exported seals in a folder say.
func checkArchive(file, dir string) (s archive.Summary, what string, err error) {
	s, err = archive.ReadFile(file, nil)
	switch {
	case errors.Is(err, archive.ErrBroken):
		return s, strings.TrimPrefix(strings.TrimPrefix(err.Error(), file+": "), archive.ErrBroken.Error()+": "), nil
	case err != nil:
		return s, "", err
	}
	w, err := openWitness(seal.NewFolder(dir, storeName(s.Store)))
	if err == nil {
		what, err = w.judge(s.Seals)
	}
	return s, what, err
}

func (c console) printArchive(file string, s archive.Summary, fault string, asJSON bool) (err error) {
	switch {
	case asJSON:
		err = c.json(map[string]any{
			"file": file, "store": s.Store, "first": s.First, "last": s.Last, "seals": len(s.Seals), "sha256": s.Digest.String(), "ok": fault == "", "detail": fault,
		})
	case fault != "":
		_, err = fmt.Fprintf(c.out, "%s does NOT hold: %s.\n", file, fault)
	default:
		_, err = fmt.Fprintf(c.out, "%s holds: positions %d to %d of the store %s under %s, SHA-256 %s.\n",
			file, s.First, s.Last, s.Store, countOf(int64(len(s.Seals)), "exported seal"), s.Digest)
	}
	return err
}
