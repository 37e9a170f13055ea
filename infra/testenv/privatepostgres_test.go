package testenv

import (
	"strings"
	"testing"
)

func TestAPromotedStandbyHasWhatItReceivedAndNothingElse(t *testing.T) {
	t.Parallel()
	primary := PrivatePostgres(t)
	primary.Run("psql", "-c", "create table seen (n integer); insert into seen values (1)")
	standby := primary.Standby()
	primary.Run("psql", "-c", "insert into seen values (2)")
	primary.AwaitCaughtUp(standby)
	standby.Kill()
	primary.Run("psql", "-c", "insert into seen values (3)")
	primary.Kill()
	standby.Start()
	standby.Promote()
	standby.Run("psql", "-c", "insert into seen values (4)")
	if got := strings.Fields(standby.Run("psql", "-At", "-c", "select n from seen order by n")); strings.Join(got, " ") != "1 2 4" {
		t.Errorf("got %v, want 1 2 4", got)
	}
	primary.Start()
	if got := strings.Fields(primary.Run("psql", "-At", "-c", "select n from seen order by n")); strings.Join(got, " ") != "1 2 3" {
		t.Errorf("the old primary, started again: got %v, want 1 2 3", got)
	}
}
