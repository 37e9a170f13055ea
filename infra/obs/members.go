package obs

import "github.com/prometheus/client_golang/prometheus"

// memberStates are the label values of seckill_member_lists.
var memberStates = [...]string{"loaded", "unreadable", "wrong"}

func newMemberLists(f factory) *prometheus.GaugeVec {
	lists := f.gauges("member_lists", "Lists of buyers that this node needs: loaded, or not used because they cannot be read or are not what the log says.", "state")
	for _, state := range memberStates {
		lists.WithLabelValues(state)
	}
	return lists
}

// MemberLists shows how many lists of buyers are in memory, and how many are needed
// and are not.
func (m *Metrics) MemberLists(loaded, unreadable, wrong int) {
	for i, n := range [...]int{loaded, unreadable, wrong} {
		m.members.WithLabelValues(memberStates[i]).Set(float64(n))
	}
}
