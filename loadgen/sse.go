package loadgen

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxSSELine and maxSSEEvent bound the data that a server can make the client hold.
const (
	maxSSELine  = 1 << 20
	maxSSEEvent = 4 << 20
)

var errSSETooLong = errors.New("the event stream has a line or event that is too long")

// sseParser splits a stream of server-sent events (WHATWG HTML, section
// 9.2.6) into its fields. Lines end in LF or CRLF; comments and the fields id
// and retry are skipped.
type sseParser struct {
	data   []byte // of the event so far, each line followed by LF
	kind   string // of the event so far; empty: a message
	onData func(kind string, data []byte)
	// onOther gets a line that is not a known field: proxies and some servers write
	// such lines into a stream when something goes wrong.
	onOther func(line []byte)
}

// read takes the stream from a body, until over reports that nothing that follows matters.
// The slices that the callbacks get are only valid during the call. At the end it still passes
// an event without its blank line on, because some servers close right after the end mark.
func (p *sseParser) read(body io.Reader, buf []byte, over func() bool) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(buf, maxSSELine)
	for !over() && lines.Scan() {
		if err := p.line(lines.Bytes()); err != nil {
			return err
		}
	}
	err := lines.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return errSSETooLong
	case err == nil && !over():
		p.dispatch()
	}
	return err
}

func (p *sseParser) line(line []byte) error {
	if len(line) == 0 {
		p.dispatch()
		return nil
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data":
		value = bytes.TrimPrefix(value, []byte(" "))
		if len(p.data)+len(value)+1 > maxSSEEvent {
			return errSSETooLong
		}
		p.data = append(append(p.data, value...), '\n')
	case "event":
		p.kind = string(bytes.TrimPrefix(value, []byte(" ")))
	case "", "id", "retry":
	default:
		p.onOther(line)
	}
	return nil
}

func (p *sseParser) dispatch() {
	if len(p.data) > 0 { // else it has no data field
		p.onData(p.kind, p.data[:len(p.data)-1])
	}
	p.data, p.kind = p.data[:0], ""
}
