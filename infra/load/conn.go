package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Answer is what came back. Body is only valid until the next call of whoever
// was handed it. Status 0 stands for no answer at all: then Err says why.
type Answer struct {
	Status     int
	RetryAfter time.Duration
	Body       []byte
	Err        error
	// Size is the answer's bytes, head included.
	Size int
	// Due is when this was to be sent, Began when the step was that it belongs to, both
	// after the start of the run; Took and SinceBegan are the times from then to the
	// whole answer. They differ by the tries before.
	Due, Took, Began, SinceBegan time.Duration
}

// maxBody bounds an answer's body; our API answers in far less.
const maxBody = 1 << 20

var errBadAnswer = errors.New("the answer is not HTTP/1.1 as we know it")

// conn is one persistent connection, dialled when it is first needed and again
// after a fault. It serves one exchange at a time.
type conn struct {
	addr    string
	timeout time.Duration
	tls     *tls.Config // nil: without encryption

	raw    net.Conn
	reader *bufio.Reader
	body   []byte
	size   int // of the answer that is read
}

// exchange writes a request and reads its answer. A fault closes the connection,
// and nothing is sent twice.
func (c *conn) exchange(ctx context.Context, request []byte) Answer {
	answer, err := c.try(ctx, request)
	if err != nil {
		c.close()
		return Answer{Err: err}
	}
	return answer
}

func (c *conn) try(ctx context.Context, request []byte) (Answer, error) {
	if c.raw == nil {
		if err := c.dial(ctx); err != nil {
			return Answer{}, err
		}
	}
	if err := c.raw.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return Answer{}, fmt.Errorf("set deadline: %w", err)
	}
	raw := c.raw
	unhook := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer unhook()
	if _, err := c.raw.Write(request); err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	return c.read()
}

// dial connects, and where it is asked for proves who answers and encrypts.
func (c *conn) dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	if c.tls != nil {
		encrypted := tls.Client(raw, c.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // nothing was sent on it
			return fmt.Errorf("encrypt: %w", err)
		}
		raw = encrypted
	}
	c.raw = raw
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(raw, 4<<10)
	} else {
		c.reader.Reset(raw)
	}
	return nil
}

func (c *conn) close() {
	if c.raw != nil {
		_ = c.raw.Close() // nothing is pending on it
		c.raw = nil
	}
}

// head is what we need of an answer's head.
type head struct {
	status     int
	length     int // -1: not said
	chunked    bool
	last       bool // the server closes the connection after it
	retryAfter time.Duration
}

func (c *conn) read() (Answer, error) {
	c.size = 0
	h, err := c.readHead()
	if err != nil {
		return Answer{}, err
	}
	switch {
	case h.chunked:
		err = c.readChunks()
	case h.length >= 0:
		err = c.readBody(h.length)
	case h.status == 204 || h.status == 304:
		c.body = c.body[:0]
	default:
		err = errBadAnswer
	}
	if err != nil {
		return Answer{}, fmt.Errorf("receive: %w", err)
	}
	if h.last {
		c.close()
	}
	return Answer{Status: h.status, RetryAfter: h.retryAfter, Body: c.body, Size: c.size + len(c.body)}, nil
}

func (c *conn) readHead() (head, error) {
	h := head{length: -1}
	line, err := c.line()
	if err != nil {
		return h, err
	}
	// "HTTP/1.1 202 Accepted"
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return h, errBadAnswer
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, errBadAnswer
	}
	for {
		line, err := c.line()
		if err != nil {
			return h, err
		}
		if len(line) == 0 {
			return h, nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return h, errBadAnswer
		}
		if err := h.field(name, bytes.TrimSpace(value)); err != nil {
			return h, err
		}
	}
}

func (h *head) field(name, value []byte) error {
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 || n > maxBody {
			return errBadAnswer
		}
		h.length = n
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		h.last = bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("Retry-After")):
		if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 {
			h.retryAfter = time.Duration(n) * time.Second
		}
	}
	return nil
}

// line gives the next line without its end; it is valid until the next read.
func (c *conn) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	c.size += len(line)
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *conn) readBody(n int) error {
	if cap(c.body) < n {
		c.body = make([]byte, n)
	}
	c.body = c.body[:n]
	_, err := io.ReadFull(c.reader, c.body)
	return err
}

func (c *conn) readChunks() error {
	c.body = c.body[:0]
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 32)
		if err != nil || n < 0 || len(c.body)+int(n) > maxBody {
			return errBadAnswer
		}
		start := len(c.body)
		c.body = append(c.body, make([]byte, n)...)
		if _, err := io.ReadFull(c.reader, c.body[start:]); err != nil {
			return err
		}
		if line, err = c.line(); err != nil || len(line) != 0 {
			return errors.Join(err, errBadAnswer)
		}
		if n == 0 {
			return nil
		}
	}
}
