package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestSecretIsMadeOnceAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var got [8]string
	var errs [8]error
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], errs[i] = Secret(dir) })
	}
	wg.Wait()
	for i := range got {
		if errs[i] != nil || got[i] != got[0] || len(got[i]) != 64 {
			t.Fatalf("caller %d: got %d digits, %v; want the same 64 as the others", i, len(got[i]), errs[i])
		}
	}
	st, err := os.Stat(filepath.Join(dir, secretFile))
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v want 0600", st.Mode().Perm())
	}
	other, err := Secret(t.TempDir())
	if err != nil || other == got[0] {
		t.Errorf("another folder has the same secret (%v)", err)
	}
}

func TestASecretThatOthersCanReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := Secret(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, secretFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Secret(dir); err == nil {
		t.Error("a secret that others can read was accepted")
	}
}

func TestTheSecretsOfTokensAndPaymentsAreTwo(t *testing.T) {
	dir := t.TempDir()
	tokens, err1 := Secret(dir)
	payments, err2 := PaymentSecret(dir)
	again, err3 := PaymentSecret(dir)
	if err := errors.Join(err1, err2, err3); err != nil || tokens == payments || payments != again || len(payments) != 64 {
		t.Errorf("tokens and payments have the same secret, or it changes (%v)", err)
	}
}
