package testenv_test

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// What is sent over a cut wire vanishes without an error, and arrives when it is mended.
func TestAnIslandHearsNothingOverACutWire(t *testing.T) {
	i := testenv.NewIsland(t, "cut", "kept")
	for _, wire := range []string{"cut", "kept"} {
		t.Run(wire, func(t *testing.T) {
			listener, err := net.Listen("tcp", net.JoinHostPort(i.Host(wire), "0"))
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			line := i.Within()
			_, port, err := net.SplitHostPort(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(line[0], append(line[1:], "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s && cat <&3", i.Host(wire), port))...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }() // it reads until it is killed
			conn, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			heard := make(chan string)
			go func() {
				for lines := bufio.NewScanner(out); lines.Scan(); {
					heard <- lines.Text()
				}
				close(heard)
			}()
			say := func(text string) {
				if _, err := fmt.Fprintln(conn, text); err != nil {
					t.Errorf("say %s: %v", text, err)
				}
			}
			say("before")
			if got := <-heard; got != "before" {
				t.Fatalf("heard %q, want before", got)
			}
			if err := i.Cut("cut"); err != nil {
				t.Fatal(err)
			}
			say("while")
			select {
			case got := <-heard:
				if wire == "cut" {
					t.Errorf("heard %q over a cut wire", got)
				}
			case <-time.After(time.Second):
				if wire != "cut" {
					t.Error("heard nothing over a wire that is whole")
				}
			}
			if err := i.Mend("cut"); err != nil {
				t.Fatal(err)
			}
			if wire == "cut" {
				select {
				case got := <-heard:
					if got != "while" {
						t.Errorf("heard %q, want what was said meanwhile", got)
					}
				case <-time.After(30 * time.Second):
					t.Error("what was said meanwhile never arrived")
				}
			}
		})
	}
}
