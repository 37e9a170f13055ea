package chaos

import "time"

// roleCells are the faults of a role: of one of its processes, which of all roles but
// API and recorder is the only one.
func roleCells(role string) []cell {
	return []cell{
		{fault: "sigkill", did: "killed, and started again at the end", do: func(s *site) func() {
			p := s.first(role)
			p.child.Kill()
			return func() { p.child.Start() }
		}},
		{fault: "sigstop", did: "stopped by the system, its connections open, and let go on", hold: *stopFor, do: func(s *site) func() {
			p := s.first(role)
			p.child.Freeze()
			return p.child.Thaw
		}},
		{fault: "restart", did: "told to stop, waited for, and started again", hold: time.Millisecond, do: func(s *site) func() {
			p := s.first(role)
			if code := p.child.Stop(); code != 0 {
				s.found("%s ends with %d when it is told to stop", role, code)
			}
			return func() { p.child.Start() }
		}},
		networkCell(role, "slow", "every answer 500 ms late, "+whose(role), (*site).slow),
		networkCell(role, "reply_lost", "answers lost after what was asked has been done, "+whose(role), (*site).loseReplies),
		networkCell(role, "reset", "every connection reset, new ones too, "+whose(role), (*site).cut),
		networkCell(role, "black_hole", "nothing comes through, connections stay, "+whose(role), (*site).swallow),
		{fault: "disk_full", did: "its data folder and its folder for temporary files full", do: func(s *site) func() {
			return s.fill(s.first(role).disk)
		}},
		clockCell(role, usual, func(s *site) func(time.Duration) error { return s.first(role).setClock }),
		{fault: "memory", did: "started again with a memory limit of 6 MiB, under which the collector hardly stops; then without", do: func(s *site) func() {
			p := s.first(role)
			p.child.Kill()
			p.child.Start("GOMEMLIMIT=6MiB")
			return func() { p.child.Kill(); p.child.Start() }
		}},
	}
}

// whose says which network a fault of a role's network is in.
func whose(role string) string {
	if role == "api" {
		return "between buyers and the process"
	}
	return "between the process and its stores"
}

func networkCell(role, fault, did string, do func(*site, nets) func()) cell {
	return cell{fault: fault, hold: holdOf(fault), did: did, do: func(s *site) func() { return do(s, s.first(role).nets()) }}
}
