package testenv

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Island is a network namespace of a test: what runs in it reaches this machine, and is
// reached, by wires alone, and a wire may be cut. Then packets vanish without a word, as
// behind a broken switch: no side hears of it.
type Island struct {
	t     testing.TB
	name  string
	wires map[string]wire
}

// wire is a pair of interfaces with an address each.
type wire struct{ hostDev, insideDev, host, inside string }

// CanIsland tells whether this process may make namespaces: whether NewIsland works.
func CanIsland() bool {
	_, err := exec.LookPath("ip")
	return err == nil && os.Geteuid() == 0
}

// nobody is the hardware address that cut packets go to.
const nobody = "02:00:00:00:00:00"

// NewIsland makes a namespace with wires of these names. It goes with the test; where we
// may not make one, the test is skipped.
func NewIsland(t testing.TB, wires ...string) *Island {
	t.Helper()
	if !CanIsland() {
		t.Skip("skipped: a network namespace wants root and the program ip")
	}
	id := strings.ToLower(rand.Text())[:6]
	i := &Island{t: t, name: "seckill-" + id, wires: map[string]wire{}}
	i.must("netns", "add", i.name)
	t.Cleanup(func() { i.must("netns", "del", i.name) }) // and with it both ends of every wire
	i.must("-n", i.name, "link", "set", "lo", "up")
	net := fmt.Sprintf("10.%d.%d", 64+mathrand.N(64), mathrand.N(256))
	for n, name := range wires {
		w := wire{
			hostDev: fmt.Sprintf("sk%s%dh", id, n), insideDev: fmt.Sprintf("sk%s%di", id, n),
			host: fmt.Sprintf("%s.%d", net, 4*n+1), inside: fmt.Sprintf("%s.%d", net, 4*n+2),
		}
		i.must("link", "add", w.hostDev, "type", "veth", "peer", "name", w.insideDev, "netns", i.name)
		i.must("addr", "add", w.host+"/30", "dev", w.hostDev)
		i.must("link", "set", w.hostDev, "up")
		i.must("-n", i.name, "addr", "add", w.inside+"/30", "dev", w.insideDev)
		i.must("-n", i.name, "link", "set", w.insideDev, "up")
		i.wires[name] = w
	}
	return i
}

// Host is the address of this machine at the end of a wire, Inside that of the island.
func (i *Island) Host(name string) string { return i.wires[name].host }

// Inside is the island's address at the end of a wire.
func (i *Island) Inside(name string) string { return i.wires[name].inside }

// Within is the command that runs another on the island.
func (i *Island) Within() []string { return []string{"ip", "netns", "exec", i.name} }

// CutOut lets what the island sends on some wires vanish, while it still hears.
func (i *Island) CutOut(names ...string) error {
	var errs []error
	for _, name := range names {
		w := i.wires[name]
		errs = append(errs, ip("-n", i.name, "neigh", "replace", w.host, "lladdr", nobody, "dev", w.insideDev, "nud", "permanent"))
	}
	return errors.Join(errs...)
}

// Cut lets everything on some wires vanish.
func (i *Island) Cut(names ...string) error {
	errs := []error{i.CutOut(names...)}
	for _, name := range names {
		w := i.wires[name]
		errs = append(errs, ip("neigh", "replace", w.inside, "lladdr", nobody, "dev", w.hostDev, "nud", "permanent"))
	}
	return errors.Join(errs...)
}

// Mend lets packets pass again on wires that were cut.
func (i *Island) Mend(names ...string) error {
	var errs []error
	for _, name := range names {
		w := i.wires[name]
		_ = ip("neigh", "del", w.inside, "dev", w.hostDev) // it may not have been cut that way
		errs = append(errs, ip("-n", i.name, "neigh", "del", w.host, "dev", w.insideDev))
	}
	return errors.Join(errs...)
}

func (i *Island) must(args ...string) {
	i.t.Helper()
	if err := ip(args...); err != nil {
		i.t.Fatal(err)
	}
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
