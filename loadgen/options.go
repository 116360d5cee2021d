package loadgen

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Profile is the kind of request that is sent.
type Profile string

// Profiles.
const (
	// HTTP is any HTTP request. Success is a status below 400 and a complete
	// body that does not end in a proxy's own timeout message.
	HTTP Profile = "http"
	// Chat is an OpenAI-compatible chat completion, streamed as server-sent
	// events. Success is status 200, no error inside the stream, and the end
	// mark "data: [DONE]".
	Chat Profile = "chat"
)

// Protocol is how requests are spoken.
type Protocol string

// Protocols.
const (
	// HTTP1 is HTTP/1.1.
	HTTP1 Protocol = "http/1.1"
	// HTTP2 is HTTP/2: with https agreed on in TLS, with http by prior knowledge (RFC
	// 9113, section 3.3). There is no fallback.
	HTTP2 Protocol = "h2"
)

// Target is the destination and the content of the requests.
type Target struct {
	// URL is absolute, http or https. It may hold user information, which is
	// sent as basic authentication and never shown.
	URL string `json:"url"`
	// Host replaces the URL's host in the Host header; empty: not replaced.
	// The name for TLS stays the URL's.
	Host string `json:"host"`
	// Entries are addresses (host or host:port) that are dialed in turn, one a
	// request, instead of the URL's; empty: the URL's. It is for services that
	// can be entered at several nodes.
	Entries []string `json:"entries"`
	// Protocol is HTTP1 when empty.
	Protocol Protocol `json:"protocol"`
	// Profile is HTTP when empty.
	Profile Profile `json:"profile"`
	// Method is GET when empty, POST with a Body; Chat always uses POST.
	Method string `json:"method"`
	// Header is sent in addition. It must not hold Host, Content-Length,
	// Transfer-Encoding, Connection, Idempotency-Key or X-Request-Id.
	Header http.Header `json:"-"`
	// Body is sent with each request; not for Chat.
	Body []byte `json:"-"`
	// Model, Prompts and MaxTokens are for Chat. Prompts are sent in turn; without
	// any, builtinPrompts are. A MaxTokens of 0 leaves the length to the server.
	Model     string   `json:"model"`
	Prompts   []string `json:"-"`
	MaxTokens int      `json:"max_tokens"`
	// APIKey is sent as "Authorization: Bearer"; empty: not sent. It is in no
	// record, error or Run.
	APIKey string `json:"-"`
	// Reuse keeps connections for further requests; the one used last comes first. A request
	// on a kept connection that the server closes fails with ClassStale, and the generator
	// does not send it again. Over HTTP/2 a kept connection carries several requests at once.
	// Without Reuse, each request has a connection to itself.
	Reuse bool `json:"-"`
}

// Timeouts bound the parts of a request. Zero means the default, a negative
// value means no bound.
type Timeouts struct {
	// Connect bounds the connection's set-up, TLS included. Default 3 s.
	Connect time.Duration `json:"connect_timeout"`
	// FirstByte bounds the wait from the request being written to the first
	// byte of the answer. Default: none, since a queued request is silent too.
	FirstByte time.Duration `json:"first_byte_timeout"`
	// Idle bounds the silence between two bytes of the answer, of a chat between two
	// events: comments do not count. Default: none.
	Idle time.Duration `json:"idle_timeout"`
	// Total bounds the request from the start of dialing. Default 30 s for
	// HTTP, 30 min for Chat.
	Total time.Duration `json:"timeout"`
	// Stall is the silence within an answer after which the request is marked
	// as stalled. It ends nothing. Default 10 s.
	Stall time.Duration `json:"stall"`
}

// Backend is a server that may work on the requests: a pod.
type Backend struct {
	Namespace, Pod, Node string
	// Ready is the pod's Ready condition.
	Ready bool
	// Concurrency is the number of requests it takes at once; 0: no limit.
	Concurrency int
	// OnDead: its node is silent or its machine is off. The gauge does not poll it, and
	// counts the requests that it held as on a dead node.
	OnDead bool
	// Metrics are what the gauge reads of it; the zero value: nothing. If they include
	// Queued, Gauge.Reported has it.
	Metrics Metrics
}

// Options holds the parts of a Generator. Only Target is required. All functions must
// be safe for concurrent use, must return when their context ends, and must not call
// the Generator's methods.
type Options struct {
	Target   Target
	Timeouts Timeouts

	// KeepAlive configures the detection of dead peers. Its TCP part applies only to
	// direct connections.
	KeepAlive KeepAlive
	// Dial opens connections, e.g. through a bastion. Nil: straight TCP. No
	// proxy is ever used.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is used for https; nil: the system's roots.
	TLS *tls.Config

	// MaxInFlight bounds the requests in flight; the generator sheds the requests of a
	// burst or rate beyond it, and counts them as unsent. Default 4096.
	MaxInFlight int
	// WindowLimit is the number of seconds kept. Default 180.
	WindowLimit int

	// Backends returns the servers behind the target; nil: unknown. It is called for
	// each sample and must not block.
	Backends func() []Backend
	// Sources returns servers that report requests without being backends; nil: there
	// are none. It is called for each sample and must not block.
	Sources func() []Source
	// Capacity returns how many requests the ready pods, and all desired pods, can
	// serve at once. If limited is false, there is no limit or an unknown one. The
	// generator calls it for each Run; it must not block.
	Capacity func() (now, target int, limited bool)
	// Fetch gets a page from a pod, for example through the API server's pod proxy;
	// nil: backends cannot be polled. Calls are bounded to 1 s.
	Fetch func(ctx context.Context, namespace, pod string, port int32, path string) ([]byte, error)

	// Record gets the evidence of each request that has ended, before the
	// request leaves Totals' in-flight count; several calls may run at once.
	// It should not block for long: a request is in flight until it returns.
	// Nil: none.
	Record func(Record)
	// Now is the clock of all time stamps; nil: time.Now.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultMaxInFlight = 4096
	DefaultWindowLimit = 180
)

// withDefaults returns a copy with every default filled in; bounds that are
// switched off become 0.
func (o Options) withDefaults() (Options, error) {
	o.Target.Profile, o.Target.Protocol = cmp.Or(o.Target.Profile, HTTP), cmp.Or(o.Target.Protocol, HTTP1)
	total, known := map[Profile]time.Duration{HTTP: 30 * time.Second, Chat: 30 * time.Minute}[o.Target.Profile]
	switch {
	case !known:
		return o, fmt.Errorf("load: unknown profile %q: use %q or %q", o.Target.Profile, HTTP, Chat)
	case o.Target.Protocol != HTTP1 && o.Target.Protocol != HTTP2:
		return o, fmt.Errorf("load: unknown protocol %q: use %q or %q", o.Target.Protocol, HTTP1, HTTP2)
	case o.MaxInFlight < 0 || o.WindowLimit < 0:
		return o, fmt.Errorf("load: the bound on requests in flight and the number of seconds kept must not be negative")
	}
	orDefault(&o.Timeouts.Connect, 3*time.Second)
	orDefault(&o.Timeouts.FirstByte, 0)
	orDefault(&o.Timeouts.Idle, 0)
	orDefault(&o.Timeouts.Total, total)
	orDefault(&o.Timeouts.Stall, 10*time.Second)
	o.MaxInFlight, o.WindowLimit = cmp.Or(o.MaxInFlight, DefaultMaxInFlight), cmp.Or(o.WindowLimit, DefaultWindowLimit)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Backends == nil {
		o.Backends = func() []Backend { return nil }
	}
	if o.Sources == nil {
		o.Sources = func() []Source { return nil }
	}
	if o.Record == nil {
		o.Record = func(Record) {}
	}
	if o.Capacity == nil {
		o.Capacity = func() (int, int, bool) { return 0, 0, false }
	}
	o.KeepAlive = o.KeepAlive.withDefaults()
	if o.Dial == nil {
		o.Dial = o.KeepAlive.dialer()
	}
	return o, nil
}

// validate returns the fault in a Spec, or nil.
func (s Spec) validate(maxInFlight int) error {
	switch s.Shape {
	case Burst, Hold:
		if s.N < 1 {
			return fmt.Errorf("load: a %s needs at least 1 request, not %d", s.Shape, s.N)
		}
		if s.Shape == Hold && s.N > maxInFlight {
			return fmt.Errorf("load: can't hold %d requests: the bound is %d in flight", s.N, maxInFlight)
		}
	case Rate:
		if !(s.PerSecond > 0 && s.PerSecond <= maxRate) {
			return fmt.Errorf("load: the rate must be more than 0 and at most %d a second, not %g", maxRate, s.PerSecond)
		}
	default:
		return fmt.Errorf("load: unknown shape %q: use %q, %q or %q", s.Shape, Burst, Hold, Rate)
	}
	if s.Requests < 0 || s.For < 0 || s.Timeout < 0 {
		return fmt.Errorf("load: the bounds of a run must not be negative")
	}
	return nil
}
