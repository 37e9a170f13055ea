package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"seckill/infra/embedded"
)

// kafkaVersion is the one of kafka/pom.xml.
const kafkaVersion = "3.9.1"

// kafkaStart is more than a broker needs to start on a busy machine.
const kafkaStart = 90 * time.Second

// sharedKafka lives as long as the test process; the kernel ends it then.
var sharedKafka = sync.OnceValues(startSharedKafka)

// Kafka returns the address of the test process's own Apache Kafka. Tests name
// their topics and groups by a Namespace; what they leave there ends with the
// process.
func Kafka(t testing.TB) string {
	t.Helper()
	withoutDetector(t)
	s, err := sharedKafka()
	require(t, err)
	return s.Addr
}

// KafkaServer is an Apache Kafka of one test, broker and controller in one
// process, on one address for its whole life. It makes no topic by itself.
type KafkaServer struct {
	// Addr is the HOST:PORT where it listens, whether it lives or not.
	Addr string

	t    testing.TB // nil for the shared one
	java string
	libs string
	dir  string
	proc *child // nil while it does not run
}

// PrivateKafka starts a Kafka that ends with the test, or with its process.
func PrivateKafka(t testing.TB) *KafkaServer {
	t.Helper()
	withoutDetector(t)
	s, err := newKafka(t.TempDir())
	require(t, err)
	s.t = t
	t.Cleanup(s.Kill)
	if err := errors.Join(s.format(), s.start()); err != nil {
		t.Fatalf("start a private Kafka: %v", err)
	}
	return s
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

// startSharedKafka first removes what processes left that were killed.
func startSharedKafka() (*KafkaServer, error) {
	prefix := filepath.Join(os.TempDir(), "seckill-kafka-"+strconv.Itoa(os.Geteuid())+"-")
	left, _ := filepath.Glob(prefix + "*") // fails on a bad pattern only
	for _, dir := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(dir, prefix))
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // another process may be quicker
		}
	}
	dir := prefix + strconv.Itoa(os.Getpid())
	s, err := newKafka(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), s.format(), s.start()); err != nil {
		return nil, fmt.Errorf("in %s: %w", dir, err)
	}
	return s, nil
}

// newKafka finds the programs; .ci/kafka brings them. The error wraps an
// *embedded.NotFoundError when they are missing.
func newKafka(dir string) (*KafkaServer, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%w (.ci/kafka brings it)", &embedded.NotFoundError{Server: "Java"})
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the cache folder: %w", err)
	}
	libs := filepath.Join(cache, "seckill", "kafka-"+kafkaVersion)
	if _, err := os.Stat(filepath.Join(libs, "kafka_2.13-"+kafkaVersion+".jar")); err != nil {
		return nil, fmt.Errorf("%w (.ci/kafka brings it)", &embedded.NotFoundError{Server: "Kafka", Setting: libs})
	}
	return &KafkaServer{java: java, libs: libs, dir: dir}, nil
}

// format chooses the addresses and prepares the data folder.
func (s *KafkaServer) format() error {
	broker, err := closedPort()
	if err != nil {
		return err
	}
	controller, err := closedPort()
	if err != nil {
		return err
	}
	s.Addr = "127.0.0.1:" + strconv.Itoa(broker)
	if err := os.WriteFile(s.properties(), []byte(kafkaProperties(s.Addr, controller, filepath.Join(s.dir, "data"))), 0o600); err != nil {
		return fmt.Errorf("write the settings of Kafka: %w", err)
	}
	out, err := s.command("kafka.tools.StorageTool", "format", "--cluster-id", "seckilltestsseckilltes", "--config", s.properties()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the storage of Kafka: %w: %s", err, out)
	}
	return nil
}

func (s *KafkaServer) properties() string { return filepath.Join(s.dir, "server.properties") }

// kafkaProperties is a small broker that starts fast and makes no topic unasked.
func kafkaProperties(addr string, controller int, data string) string {
	return strings.Join([]string{
		"process.roles=broker,controller", "node.id=1",
		"controller.quorum.voters=1@127.0.0.1:" + strconv.Itoa(controller),
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://127.0.0.1:" + strconv.Itoa(controller),
		"advertised.listeners=PLAINTEXT://" + addr,
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
		"log.dirs=" + data, "auto.create.topics.enable=false", "default.replication.factor=1",
		"offsets.topic.replication.factor=1", "offsets.topic.num.partitions=4",
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
		"group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000",
		// After a kill the controller waits for the end of this session.
		"broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500",
		"log.cleaner.dedupe.buffer.size=2097152", "num.network.threads=2", "num.io.threads=2", "",
	}, "\n")
}

func (s *KafkaServer) command(class string, args ...string) *exec.Cmd {
	return exec.Command(s.java, append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(s.libs, "*"), class,
	}, args...)...)
}

// start returns when the broker has read its data and answers.
func (s *KafkaServer) start() error {
	name := filepath.Join(s.dir, "broker.log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the broker's log: %w", err)
	}
	defer log.Close()
	cmd := s.command("kafka.Kafka", s.properties())
	cmd.Stdout, cmd.Stderr = log, log
	if s.proc, err = startChild(cmd); err != nil {
		return fmt.Errorf("start the broker: %w", err)
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
			said, _ := os.ReadFile(name)
			return fmt.Errorf("the broker ended while it started; it said: %s", said[max(0, len(said)-2000):])
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("the broker does not answer within %s: %w", kafkaStart, err)
		}
	}
}

// pingKafka tells whether the broker knows itself.
func pingKafka(addr string) error {
	c := sarama.NewConfig()
	c.Net.DialTimeout, c.Net.ReadTimeout = time.Second, 5*time.Second
	b := sarama.NewBroker(addr)
	if err := b.Open(c); err != nil {
		return err
	}
	defer b.Close()
	m, err := b.GetMetadata(sarama.NewMetadataRequest(c.Version, nil))
	if err == nil && len(m.Brokers) == 0 {
		err = errors.New("it has not joined its own cluster yet")
	}
	return err
}
