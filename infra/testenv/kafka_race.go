package testenv

import "testing"

// withoutDetector leaves what consumes from Kafka out of a run with the race
// detector: sarama's consumer has a race of its own at rebalances (a partition's
// queueSubscription against unrefBrokerConsumer closing the channel; the panic it
// may cause is caught there), and the detector fails the test that meets it. The
// same tests run without the detector.
func withoutDetector(t testing.TB) {
	t.Helper()
	if raceDetector {
		t.Skip("skipped with the race detector: the Kafka client has a race of its own")
	}
}
