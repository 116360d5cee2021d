package loadgen

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// proxyTexts are what Knative's activator and queue-proxy write into the body
// of an answer that has begun when the revision's timeout passes, ending it
// like a complete one (knative.dev/serving pkg/http/handler/timeout.go).
var proxyTexts = []string{"activator request timeout", "request timeout"}

// buffers are for requests being put together and bodies being read.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// client carries requests to the target and reads its answers. It has what all requests share, and puts
// that together once.
type client struct {
	*common
	entries   []*entry
	turn      atomic.Uint64   // the requests that have entered, if there are several entries
	tls       *tls.Config     // nil: the target has none
	transport *http.Transport // HTTP/2 only
	// messages are the bodies, sent in turn: [1] those of a chat without stream_options, once the
	// server has refused it.
	messages       [2][]message
	withoutOptions atomic.Bool
	idPrefix       string
	// template is a request without ID and body: for HTTP/2, and what answers are parsed for,
	// since the method decides whether one has a body. It is only read.
	template *http.Request
	shown    string            // the URL without user, query and fragment
	mask     *strings.Replacer // hides what must not be in an error
}

// hide hides the client's secrets in a text that a server may have written.
func (cl *client) hide(text string) string { return cl.mask.Replace(text) }

// maxTries is how often a request is sent that the server proves not to have processed.
const maxTries = 6

// refusesOptions reports whether the answer refuses a request because of its stream_options,
// which older servers do not know: old vLLM by 400, those that FastAPI validates for by 422.
func (r *flight) refusesOptions(err error) bool {
	var own *failure
	return r.client.opts.Target.Profile == Chat && errors.As(err, &own) && (r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(own.body, "stream_options")
}

// exchange sends the request and reads the answer. The error is the reason when the
// class is not ok.
func (cl *client) exchange(r *flight) (Class, error) {
	e := cl.enter(r)
	r.Dial = r.now()
	r.enter(waitDial, r.Dial)
	send := cl.exchangeHTTP1
	if cl.transport != nil {
		send = cl.exchangeHTTP2
	}
	for try := 1; ; try++ {
		bare := cl.withoutOptions.Load()
		all := cl.messages[0]
		if bare {
			all = cl.messages[1]
		}
		err := send(r, e, &all[r.message%len(all)])
		switch {
		case r.aborted() != nil:
			return r.judge(err)
		case !bare && r.refusesOptions(err):
			cl.withoutOptions.Store(true)
		case try == maxTries || !r.unprocessed(err):
			return r.judge(err)
		}
		r.again()
	}
}

// exchangeHTTP1 sends the request on a HTTP/1.1 connection and reads the answer.
func (cl *client) exchangeHTTP1(r *flight, e *entry, m *message) error {
	c, err := cl.connect(r, e)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep || !r.detach() {
			c.discard()
		} else {
			e.idle.put(c, cl.now())
		}
	}()

	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = append((*buf)[:0], m.head...)
	*buf = append(*buf, r.ID...)
	*buf = append(*buf, m.tail...)
	_, writeErr := c.Write(*buf)
	if writeErr != nil && !errors.Is(writeErr, syscall.EPIPE) && !errors.Is(writeErr, syscall.ECONNRESET) {
		return writeErr
	}
	if writeErr == nil {
		r.wrote(r.now())
	}
	resp, err := readHead(c, cl.template)
	if err != nil {
		return cmp.Or(writeErr, err)
	}
	// A server may answer and close before it has read the whole request.
	r.Status = resp.StatusCode
	r.Unframed = resp.ContentLength == -1 && len(resp.TransferEncoding) == 0
	*buf = (*buf)[:cap(*buf)]
	err = cl.readAnswer(r, resp, *buf)
	keep = err == nil && cl.opts.Target.Reuse && cl.opts.Target.Profile != Chat &&
		!resp.Close && !r.Unframed && writeErr == nil && c.br.Buffered() == 0
	return err
}

// readAnswer reads the answer after its headers.
func (cl *client) readAnswer(r *flight, resp *http.Response, buf []byte) error {
	switch class := classOfStatus(resp.StatusCode); {
	case class != ClassOK:
		text, body := r.errorText(resp, buf)
		return &failure{class, text, body}
	case cl.opts.Target.Profile == Chat:
		return cl.readChat(r, resp, buf)
	}
	return readPage(resp.Body, buf)
}

// failure determines the class of a request: an answer whose status or text is an error, or a cause of
// the client's own.
type failure struct {
	class Class
	text  string
	body  string // the beginning of what the server wrote, as it wrote it
}

func (e *failure) Error() string { return e.text }

// judge returns the class of an error: by the answer, else the client's own cause, else
// the phase, then the system's error.
func (r *flight) judge(err error) (Class, error) {
	if err == nil {
		return ClassOK, nil
	}
	own := r.aborted()
	if errors.As(err, &own) || own != nil {
		return own.class, own
	}
	connected, answered := !r.Connected.IsZero(), !r.FirstByte.IsZero()
	class := classify(connected, answered, err)
	if class == ClassReset && r.Reused && !answered && r.client.transport == nil {
		return ClassStale, fmt.Errorf("the kept connection was closed before an answer came, perhaps because it was idle: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		switch {
		case answered:
			err = fmt.Errorf("the answer was cut after %d bytes: %w", r.Bytes, io.ErrUnexpectedEOF)
		case connected:
			err = fmt.Errorf("the connection was closed without an answer: %w", io.EOF)
		}
	}
	return class, err
}

// readHead reads the status and headers, past any interim answers.
func readHead(c *conn, request *http.Request) (*http.Response, error) {
	for range 10 {
		resp, err := http.ReadResponse(c.br, request)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 {
			return resp, nil
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	return nil, &failure{class: ClassTruncated, text: "the server gave only interim answers"}
}

// errorText puts an answer's status and the beginning of its body into words, and returns that
// beginning.
func (r *flight) errorText(resp *http.Response, buf []byte) (text, body string) {
	r.enter(waitRest, r.now())
	n, _ := io.ReadFull(resp.Body, buf[:4096])
	text, body = fmt.Sprintf("the server answered %d", resp.StatusCode), string(buf[:n])
	if shown := clean(r.client.hide(body), maxErrorText); shown != "" {
		text += ": " + shown
	}
	return text, body
}

// readPage reads a body to its end and checks its last words.
func readPage(body io.Reader, buf []byte) error {
	const tailLen = 64
	tail := make([]byte, 0, 2*tailLen)
	for {
		n, err := body.Read(buf)
		tail = append(tail, buf[max(n-tailLen, 0):n]...)
		tail = append(tail[:0], tail[max(len(tail)-tailLen, 0):]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	tail = bytes.TrimSpace(tail)
	for _, t := range proxyTexts {
		if bytes.HasSuffix(tail, []byte(t)) {
			return &failure{class: ClassTruncated, text: fmt.Sprintf("a proxy ended the answer: %q", t)}
		}
	}
	return nil
}

// readChat follows a streamed chat to its end mark.
func (cl *client) readChat(r *flight, resp *http.Response, buf []byte) error {
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/event-stream" {
		text, _ := r.errorText(resp, buf)
		return &failure{class: ClassTruncated, text: "no event stream came: " + text}
	}
	stream := newChatStream(r.progress, cl.hide)
	err := stream.read(resp.Body, buf, stream.over)
	r.Tokens, r.FirstToken, r.LastToken = stream.tokens(), stream.firstToken, stream.lastToken
	switch {
	case stream.state == chatDone && err == nil:
		// Let the server end the answer: closing now looks to proxies like a
		// client that went away.
		r.enter(waitRest, r.now())
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		return nil
	case err == errSSETooLong:
		return &failure{class: ClassTruncated, text: err.Error()}
	case err != nil && !stream.over():
		return err
	}
	if e := stream.verdict(); e != nil {
		return &failure{class: ClassTruncated, text: e.Error()}
	}
	return nil
}
