package embedded

import (
	"testing"
)

// BenchmarkStart is a start and stop of both stores on a data folder that is
// there already, as at the second demo.
func BenchmarkStart(b *testing.B) {
	for _, find := range []func(string) (string, error){FindPostgres, FindRedis} {
		if _, err := find(""); err != nil {
			b.Skip(err)
		}
	}
	dir := b.TempDir()
	for range b.N {
		s, err := Start(b.Context(), both(dir))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
