package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// SetHeap changes the memory for its objects from its next start on, as the flag -Xmx
// takes it.
func (s *KafkaServer) SetHeap(size string) { s.heap = size }

// Stop ends it in order and waits until it is gone.
func (s *KafkaServer) Stop() {
	if s.proc != nil {
		_ = syscall.Kill(s.proc.pid, syscall.SIGTERM) // it may have ended by itself
		<-s.proc.done
		s.proc = nil
	}
}

// Kill ends it with SIGKILL, as a power cut would, and waits until it is gone.
func (s *KafkaServer) Kill() {
	if s.proc != nil {
		_ = syscall.Kill(s.proc.pid, syscall.SIGKILL) // it may have ended by itself
		<-s.proc.done
		s.proc = nil
	}
}

// Restart kills it if it runs, starts it again on what it has on disk, and
// returns when it answers.
func (s *KafkaServer) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		s.t.Fatalf("start Kafka again: %v", err)
	}
}

// Freeze keeps it from doing anything, while its connections stay; Thaw ends that.
func (s *KafkaServer) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen Kafka go on.
func (s *KafkaServer) Thaw() { s.signal(syscall.SIGCONT) }

func (s *KafkaServer) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.proc == nil {
		s.t.Fatal("Kafka does not run")
	}
	if err := syscall.Kill(s.proc.pid, sig); err != nil {
		s.t.Fatalf("send %v to Kafka: %v", sig, err)
	}
}

// Launch starts it on what it has on disk and does not wait: it may never answer.
func (s *KafkaServer) Launch() {
	s.t.Helper()
	if err := s.launch(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *KafkaServer) log() string { return filepath.Join(s.dir, "broker.log") }

func (s *KafkaServer) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the broker's log: %w", err)
	}
	defer log.Close()
	cmd := s.command("kafka.Kafka", s.properties())
	cmd.Stdout, cmd.Stderr = log, log
	if s.proc, err = startChild(cmd); err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	return nil
}

// start returns when the broker has read its data and answers.
func (s *KafkaServer) start() error {
	if err := s.launch(); err != nil {
		return err
	}
	deadline := time.Now().Add(kafkaStart)
	for {
		err := pingKafka(s.Addr)
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.done:
			s.proc = nil
			said, _ := os.ReadFile(s.log())
			return fmt.Errorf("the broker ended while it started; it said: %s", said[max(0, len(said)-2000):])
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("the broker does not answer within %s: %w", kafkaStart, err)
		}
	}
}
