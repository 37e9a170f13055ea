package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// FuzzParseMix: a mix that is read is written as the same mix.
func FuzzParseMix(f *testing.F) {
	for _, text := range []string{"purchases=80,pages=15,attackers=5", " polls = 1", "purchases=NaN", "purchases=1e-320", "purchases=0", "purchases=1,purchases=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMix(text)
		if err != nil {
			return
		}
		if again, err := ParseMix(m.String()); err != nil || again != m {
			t.Errorf("%q is read as %v, written %q and read as %v, %v", text, m, m, again, err)
		}
	})
}

// FuzzAnswer: an answer that we read and net/http reads as well has the same status and
// the same body to both.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 2\r\n\r\nabcde", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: +2\n\n{}", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := conn{reader: bufio.NewReaderSize(bytes.NewReader(text), 4<<10)}
		got, err := c.read()
		if err != nil {
			return
		}
		if len(got.Body) > maxBody {
			t.Fatalf("a body of %d bytes was read", len(got.Body))
		}
		answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil || answer.StatusCode < 200 || answer.StatusCode == 204 || answer.StatusCode == 304 {
			return // the last of these have no body, whatever their length says
		}
		body, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != got.Status || !bytes.Equal(body, got.Body)) {
			t.Errorf("%q: got %d %q, net/http reads %d %q", text, got.Status, got.Body, answer.StatusCode, body)
		}
	})
}
