package api

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestATokenThatWasSeenBeforeEndsWithItsExpiryAndCannotBeChanged(t *testing.T) {
	now := time.Now()
	v, err := SecretVerifier(testSecret, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	token, err := SignToken(testSecret, "alice", "", "gold", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := v.Verify(context.Background(), token); err != nil || got != (Caller{Buyer: "alice", Tier: "gold"}) {
			t.Fatalf("got %+v, %v; want alice of tier gold", got, err)
		}
	}
	if got, err := v.Verify(context.Background(), changed(token)); err == nil {
		t.Errorf("got %+v for a changed token, want an error", got)
	}
	now = now.Add(2 * time.Minute)
	if got, err := v.Verify(context.Background(), token); err == nil {
		t.Errorf("got %+v for a token that is over, want an error", got)
	}
}

func TestSeenTokensAreBoundedAndGoWithTheirKeys(t *testing.T) {
	var s seenTokens
	now := time.Now()
	name := func(i int) (d tokenDigest) { copy(d[:], fmt.Sprint(i)); return d }
	alice := seenToken{caller: Caller{Buyer: "alice"}, until: now.Add(time.Hour)}
	for i := range 3 * maxSeen {
		s.put(name(i), 0, alice)
	}
	if kept := len(s.young) + len(s.old); kept > 2*maxSeen {
		t.Errorf("got %d tokens kept, want at most %d", kept, 2*maxSeen)
	}
	if caller, _, ok := s.get(name(3*maxSeen-1), now); !ok || caller.Buyer != "alice" {
		t.Errorf("got %+v, %t for the newest, want alice", caller, ok)
	}
	s.forget()
	if _, _, ok := s.get(name(3*maxSeen-1), now); ok {
		t.Error("a token is known although the keys are others")
	}
	// It was verified before the keys changed, and comes after that.
	s.put(name(1), 0, alice)
	if _, _, ok := s.get(name(1), now); ok {
		t.Error("a token that older keys verified is known")
	}
}
