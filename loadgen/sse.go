package loadgen

import (
	"bytes"
	"errors"
)

// maxSSELine and maxSSEEvent bound the data that a server can make the client hold.
const (
	maxSSELine  = 1 << 20
	maxSSEEvent = 4 << 20
)

var errSSETooLong = errors.New("the event stream has a line or event that is too long")

// sseParser splits a stream of server-sent events (WHATWG HTML, section
// 9.2.6) into its fields. It takes the stream in pieces cut anywhere. Lines
// end in LF, CR or CRLF; comments and the fields id and retry are
// skipped.
type sseParser struct {
	line   []byte // of the line so far
	data   []byte // of the event so far, each line followed by LF
	kind   string // of the event so far; empty: a message
	seen   bool   // the event has a data field
	bom    bool   // the first line is over
	wasCR  bool   // the last byte was CR: an LF now belongs to it
	onData func(kind string, data []byte)
	// onOther gets a line that is not a known field: proxies and some servers write
	// such lines into a stream when something goes wrong.
	onOther func(line []byte)
}

// feed takes the next piece of the stream. The slices that the callbacks get
// are only valid during the call.
func (p *sseParser) feed(b []byte) error {
	for len(b) > 0 {
		if p.wasCR {
			p.wasCR = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		i := bytes.IndexAny(b, "\r\n")
		part := b
		if i >= 0 {
			part = b[:i]
		}
		if len(p.line)+len(part) > maxSSELine {
			return errSSETooLong
		}
		p.line = append(p.line, part...)
		if i < 0 {
			return nil
		}
		p.wasCR = b[i] == '\r'
		b = b[i+1:]
		if err := p.endLine(); err != nil {
			return err
		}
	}
	return nil
}

// flush ends the stream. It still passes an event without its blank line on, because
// some servers close right after the end mark.
func (p *sseParser) flush() {
	if len(p.line) == 0 || p.endLine() == nil {
		p.dispatch()
	}
}

func (p *sseParser) endLine() error {
	line := p.line
	p.line = p.line[:0]
	if !p.bom {
		p.bom = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
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
		p.seen = true
	case "event":
		p.kind = string(bytes.TrimPrefix(value, []byte(" ")))
	case "", "id", "retry":
	default:
		p.onOther(line)
	}
	return nil
}

func (p *sseParser) dispatch() {
	if p.seen {
		p.onData(p.kind, p.data[:len(p.data)-1])
	}
	p.data, p.seen, p.kind = p.data[:0], false, ""
}
