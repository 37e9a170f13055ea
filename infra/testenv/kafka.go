package testenv

import (
	"cmp"
	"errors"
	"fmt"
	"net"
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

// KafkaVersion is the one of kafka/pom.xml.
const KafkaVersion = "3.9.1"

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

	// Doors are networks to it that fail when told to: see KafkaOptions.
	Doors []*FaultProxy

	t    testing.TB // nil for the shared one
	o    KafkaOptions
	java string
	libs string
	dir  string
	heap string // as the flag -Xmx takes it
	also []door
	proc *child // nil while it does not run
}

// KafkaOptions change a private Kafka.
type KafkaOptions struct {
	// Dir is where its records are kept, such as a SmallDisk; "" for a folder of the test.
	Dir string
	// Env are further variables of its environment, NAME=value.
	Env []string
	// Doors is how many proxies stand before it. Who comes by one is told by the broker to
	// come by that one again, as brokers name the address to come to.
	Doors int
	// Hosts are further addresses of this machine to listen on; see KafkaServer.At.
	Hosts []string
}

// door is a listener beside the first: where it listens, and where clients are told to come.
type door struct{ listens, comes string }

// PrivateKafka starts a Kafka that ends with the test, or with its process.
func PrivateKafka(t testing.TB) *KafkaServer {
	t.Helper()
	return PrivateKafkaWith(t, KafkaOptions{})
}

// PrivateKafkaWith starts one with options.
func PrivateKafkaWith(t testing.TB, o KafkaOptions) *KafkaServer {
	t.Helper()
	withoutDetector(t)
	s, err := newKafka(t.TempDir())
	require(t, err)
	s.t, s.o = t, o
	for range o.Doors {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(t)))
		p := Proxy(t, at)
		s.Doors, s.also = append(s.Doors, p), append(s.also, door{at, p.Addr()})
	}
	for _, host := range o.Hosts {
		at := net.JoinHostPort(host, strconv.Itoa(FreePort(t)))
		s.also = append(s.also, door{at, at})
	}
	t.Cleanup(s.Kill)
	if err := errors.Join(s.format(), s.start()); err != nil {
		t.Fatalf("start a private Kafka: %v", err)
	}
	return s
}

// At gives the HOST:PORT at which it listens on one of its further hosts.
func (s *KafkaServer) At(host string) string {
	for _, d := range s.also {
		if strings.HasPrefix(d.listens, host+":") {
			return d.listens
		}
	}
	s.t.Fatalf("Kafka does not listen on %s", host)
	return ""
}

// Alive tells whether it runs.
func (s *KafkaServer) Alive() bool { return s.proc != nil && !s.proc.ended() }

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
	libs := filepath.Join(cache, "seckill", "kafka-"+KafkaVersion)
	if _, err := os.Stat(filepath.Join(libs, "kafka_2.13-"+KafkaVersion+".jar")); err != nil {
		return nil, fmt.Errorf("%w (.ci/kafka brings it)", &embedded.NotFoundError{Server: "Kafka", Setting: libs})
	}
	return &KafkaServer{java: java, libs: libs, dir: dir, heap: "256m"}, nil
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
	if err := os.WriteFile(s.properties(), []byte(s.settings(controller)), 0o600); err != nil {
		return fmt.Errorf("write the settings of Kafka: %w", err)
	}
	out, err := s.command("kafka.tools.StorageTool", "format", "--cluster-id", "seckilltestsseckilltes", "--config", s.properties()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format the storage of Kafka: %w: %s", err, out)
	}
	return nil
}

func (s *KafkaServer) properties() string { return filepath.Join(s.dir, "server.properties") }

// settings are those of a small broker that starts fast and makes no topic unasked.
func (s *KafkaServer) settings(controller int) string {
	listeners, advertised, protocols := "PLAINTEXT://"+s.Addr, "PLAINTEXT://"+s.Addr, "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
	for i, d := range s.also {
		name := "DOOR" + strconv.Itoa(i)
		listeners, advertised, protocols = listeners+","+name+"://"+d.listens, advertised+","+name+"://"+d.comes, protocols+","+name+":PLAINTEXT"
	}
	data := filepath.Join(cmp.Or(s.o.Dir, s.dir), "data")
	return strings.Join([]string{
		"process.roles=broker,controller", "node.id=1",
		"controller.quorum.voters=1@127.0.0.1:" + strconv.Itoa(controller),
		"listeners=" + listeners + ",CONTROLLER://127.0.0.1:" + strconv.Itoa(controller),
		"advertised.listeners=" + advertised,
		"listener.security.protocol.map=" + protocols,
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
	cmd := exec.Command(s.java, append([]string{
		"-Xmx" + s.heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(s.libs, "*"), class,
	}, args...)...)
	cmd.Env = append(os.Environ(), s.o.Env...)
	return cmd
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
