package commands

import (
	"context"
	"errors"
	"time"

	"seckill/domain"
)

// AlarmMembers: a list of buyers cannot be read, or is not the one that the log
// names: nobody new buys in its sale.
const AlarmMembers = "members"

// What may be wrong with a list that a node needs.
const (
	MembersUnreadable = "unreadable" // the store does not give it
	MembersWrong      = "wrong"      // what is stored is not what the log says
)

// errWrongList: a stored list does not hold what the log says.
var errWrongList = errors.New("what is stored is not what the log says")

// wrongAgain is after what time a list that was wrong is read again: it never
// changes, unless somebody puts it right by hand.
const wrongAgain = 15 * time.Second

// MemberState is what a node knows of a list: with no Fault it is in memory. Count
// and Digest are of what is stored, so far as it could be read.
type MemberState struct {
	Fault  string // "", MembersUnreadable or MembersWrong
	Count  int64
	Digest string
}

// MemberStanding counts the lists that a node needs.
type MemberStanding struct{ Loaded, Unreadable, Wrong int }

// memberFault is why a list is not in memory, and when it was read last.
type memberFault struct {
	why string
	at  time.Time
}

// Prepare reads a list into memory, unless it is there, and tells how it stands. It
// may take as long as reading another list first.
func (k *KnownMembers) Prepare(ctx context.Context, list domain.MemberList) MemberState {
	if set, ok := (*k.sets.Load())[list.ID]; ok {
		return MemberState{Count: set.Count(), Digest: set.Digest()}
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	set, err := k.fetch(ctx, list)
	state := MemberState{Fault: faultOf(err)}
	if set != nil {
		state.Count, state.Digest = set.Count(), set.Digest()
	}
	return state
}

// Standing counts the lists in memory, and those that were needed within the last
// minute and are not.
func (k *KnownMembers) Standing() MemberStanding {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := MemberStanding{Loaded: len(*k.sets.Load())}
	for id, f := range k.faults {
		switch {
		case elapsed(f.at, k.env.Now()) > time.Minute:
			delete(k.faults, id) // its sale is over, or it has another list
		case f.why == MembersWrong:
			s.Wrong++
		default:
			s.Unreadable++
		}
	}
	return s
}

// fetch reads a list that is not in memory, keeps it if it is good, and notes what is
// wrong with it otherwise. The caller holds loading.
func (k *KnownMembers) fetch(ctx context.Context, list domain.MemberList) (*knownSet, error) {
	if set, ok := (*k.sets.Load())[list.ID]; ok {
		return set, nil
	}
	set, err := k.read(ctx, list)
	if err == nil {
		set.used.Store(k.env.Now().UnixNano())
		k.put(list.ID, set)
	}
	if ctx.Err() == nil {
		k.note(list, err)
	}
	return set, err
}

// note remembers whether a list could be read; the first time that it could not, it
// says so and alarms.
func (k *KnownMembers) note(list domain.MemberList, err error) {
	k.mu.Lock()
	before := k.faults[list.ID]
	if err == nil {
		delete(k.faults, list.ID)
	} else {
		k.faults[list.ID] = memberFault{why: faultOf(err), at: k.env.Now()}
	}
	close(k.tried)
	k.tried = make(chan struct{})
	k.mu.Unlock()
	if err == nil || before.why == faultOf(err) {
		return
	}
	k.env.Log.Error("a member list is not in memory: nobody new may buy in its sale", "alarm", AlarmMembers, "list", list.ID, "why", faultOf(err), "error", err)
	if k.opts.Alarm != nil {
		k.opts.Alarm(Alarm{Kind: AlarmMembers, Lane: -1, Detail: "list " + list.ID + ": " + err.Error(), Logged: true})
	}
}

// wrongLately tells whether a list was found wrong a moment ago.
func (k *KnownMembers) wrongLately(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, ok := k.faults[id]
	return ok && f.why == MembersWrong && elapsed(f.at, k.env.Now()) < wrongAgain
}

func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errWrongList):
		return MembersWrong
	}
	return MembersUnreadable
}
