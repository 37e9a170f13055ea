package commands_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/testenv"
)

func TestAFolderThatTakesNoSealsRaisesOneAlarm(t *testing.T) {
	v := newVault(t)
	v.sell(20)
	dir := filepath.Join(t.TempDir(), "seals")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder has to be stops root too
		t.Fatal(err)
	}
	v.folder = seal.NewFolder(dir, v.uuid)
	alarms := make(chan commands.Alarm, 1000)
	s := v.sealer(commands.SealerOptions{After: time.Nanosecond, Look: time.Millisecond, Alarm: func(a commands.Alarm) { alarms <- a }})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	select {
	case a := <-alarms:
		if a.Kind != commands.AlarmSeal || a.Detail == "" {
			t.Errorf("got %+v, want the alarm seal with what is wrong", a)
		}
	case <-time.After(20 * time.Second):
		t.Error("no alarm")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 20*time.Second, func() error {
		last, err := v.folder.Last()
		if err == nil && last == nil {
			err = errors.New("nothing is exported yet")
		}
		return err
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(alarms) > 0 {
		t.Errorf("%d more alarms of one fault", len(alarms))
	}
}

func TestADatabaseThatIsAwayIsNoAlarmOfTheSeals(t *testing.T) {
	v := newVault(t)
	v.sell(20)
	alarms, looks := make(chan commands.Alarm, 1000), 0
	ctx, stop := context.WithCancel(t.Context())
	store := &deafSeals{Store: v.store, asked: func() {
		if looks++; looks == 5 {
			stop()
		}
	}}
	s := commands.NewSealer(v.env, store, v.uuid, v.key, v.folder, commands.SealerOptions{Look: time.Millisecond, Alarm: func(a commands.Alarm) { alarms <- a }})
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	if len(alarms) > 0 {
		t.Errorf("got %+v", <-alarms)
	}
}

// deafSeals is a store that does not answer where seals are asked for.
type deafSeals struct {
	*pgstore.Store
	asked func()
}

func (d *deafSeals) Seals(context.Context, int64, int) ([]seal.Seal, error) {
	d.asked()
	return nil, errors.New("connection refused")
}
