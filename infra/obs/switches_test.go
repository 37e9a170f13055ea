package obs

import "testing"

func TestSwitchesAreShownFromTheStartAndAsTheyAreTurned(t *testing.T) {
	m := New(Known{Switches: []string{"force_ended", "pause_noncore"}})
	want := func(forced, noncore string) {
		t.Helper()
		seen := scrape(t, m)
		if f, n := seen[`seckill_switch_on{switch="force_ended"}`], seen[`seckill_switch_on{switch="pause_noncore"}`]; f != forced || n != noncore {
			t.Errorf("got %q and %q, want %q and %q", f, n, forced, noncore)
		}
		if _, ok := seen[`seckill_switch_on{switch="tea"}`]; ok {
			t.Error("what is no switch has a series")
		}
	}
	want("0", "0")
	m.SwitchedOn([]string{"pause_noncore", "tea"})
	want("0", "1")
	m.SwitchedOn(nil)
	want("0", "0")
}
