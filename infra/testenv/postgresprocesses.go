package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Freeze stops every process of the cluster without ending it, until the function it
// gives is called, or the test ends.
func (s *PostgresServer) Freeze() (thaw func()) {
	s.t.Helper()
	s.signalAll(syscall.SIGSTOP)
	var once sync.Once
	thaw = func() { once.Do(func() { s.signalAll(syscall.SIGCONT) }) }
	s.t.Cleanup(thaw)
	return thaw
}

// Crash kills every process of the cluster at once and waits: none of them can say or
// write a further word.
func (s *PostgresServer) Crash() {
	s.t.Helper()
	if s.proc == nil {
		return
	}
	for pid := range s.signalAll(syscall.SIGSTOP) { // so that none sees another die, or starts one
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			s.t.Errorf("kill PostgreSQL: %v", err)
		}
	}
	<-s.proc.done
	s.proc = nil
}

// Alive tells whether it runs.
func (s *PostgresServer) Alive() bool { return s.proc != nil && !s.proc.ended() }

// signalAll signals the postmaster first, and its children until no new one is found: it
// may just be starting one. It gives whom it told.
func (s *PostgresServer) signalAll(sig syscall.Signal) (told map[int]bool) {
	s.t.Helper()
	if s.proc == nil {
		return nil
	}
	told = map[int]bool{}
	for left := []int{s.proc.pid}; len(left) > 0; left = slices.DeleteFunc(s.childrenOf(s.proc.pid), func(pid int) bool { return told[pid] }) {
		for _, pid := range left {
			told[pid] = true
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				s.t.Errorf("signal PostgreSQL: %v", err)
			}
		}
	}
	return told
}

func (s *PostgresServer) childrenOf(parent int) []int {
	s.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		s.t.Fatal(err)
	}
	var children []int
	for _, file := range files {
		raw, _ := os.ReadFile(file) // it may have ended
		_, rest, ok := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			s.t.Fatal(err)
		}
		children = append(children, pid)
	}
	return children
}
