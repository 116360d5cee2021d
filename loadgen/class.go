package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"lightsout/internal/text"
)

// Class is how a request ended. A request ends in exactly one class.
//
// A status of 400 or more, or an error inside the answer, decides first; then a cause of
// the client's own (a passed bound, a cancel); then the phase of the request; then the
// system's error. The number is the class's Code. The bounds are those of Timeouts and
// KeepAlive.
//
//	class               code  phase       meaning
//	ok                     0  answer      complete, status below 400; a chat: with its [DONE]
//	refused              100  connecting  ECONNREFUSED: a machine is there, nobody listens
//	unreachable          101  connecting  EHOSTUNREACH, ENETUNREACH, EHOSTDOWN: no way, or no answer to ARP (3 s)
//	connect timeout      102  connecting  no connection, TLS included, within Connect (3 s)
//	reset                200  connected   ECONNRESET, EPIPE, an HTTP/2 stream reset; or closed without an answer
//	truncated            201  answer      cut; no [DONE]; an error or a proxy's timeout text inside a 200
//	peer dead            202  connected   closed: ETIMEDOUT, EHOSTUNREACH, or no answer to an HTTP/2 PING (5 s)
//	stale connection     203  connected   a kept HTTP/1.1 connection, closed before a byte of the answer came; see ClassStale
//	first-byte timeout   300  waiting     no byte within FirstByte (none) of the request being written
//	idle timeout         301  answer      no further byte within Idle (none)
//	total timeout        302  any         not complete within Total (30 s; a chat 30 min)
//	4xx, 5xx        400, 500  answer      by status
//	502                  502  answer      a proxy got no answer
//	503                  503  answer      queue full, or no endpoint
//	504                  504  answer      a proxy's timeout
//	local error          900  any         our own doing: no port or file left, a wrong name or certificate, a bastion that fails
//	cancelled            910  any         ended by the operator
//	censored             911  any         still in flight when the generator was closed
//	unsent               920  before      shed: too many in flight, or too late
type Class string

// Terminal classes. ClassOK is success; ClassCancelled and ClassCensored are
// ended by us, ClassUnsent was never begun; all others are failures.
const (
	ClassOK             Class = "ok"
	ClassRefused        Class = "refused"
	ClassUnreachable    Class = "unreachable"
	ClassConnectTimeout Class = "connect timeout"
	ClassReset          Class = "reset"
	ClassTruncated      Class = "truncated"
	ClassFirstByte      Class = "first-byte timeout"
	ClassIdle           Class = "idle timeout"
	ClassTotal          Class = "total timeout"
	ClassPeerDead       Class = "peer dead"
	Class4xx            Class = "4xx"
	Class5xx            Class = "5xx"
	Class502            Class = "502"
	Class503            Class = "503"
	Class504            Class = "504"
	// ClassStale is a request on a kept connection that the other side closed or reset
	// before the first byte of the answer. A server that closes idle connections has
	// not seen the request, and the client cannot tell whether that was the case.
	ClassStale     Class = "stale connection"
	ClassLocal     Class = "local error"
	ClassCancelled Class = "cancelled"
	ClassCensored  Class = "censored"
	ClassUnsent    Class = "unsent"
)

// Traits are all that the screen, the reports and the records show of a class beside
// its name.
type Traits struct {
	// Code is the number of the class, which never changes.
	Code int
	// Group is the index of its group in Groups.
	Group int
	// Colour and Texture are its pattern in a report. Each colour is a kind of failure:
	// red no connection, plum a timeout, rust a truncated answer, crimson a 5xx answer,
	// ochre a 4xx answer, grey a fault of the client.
	Colour, Texture string
}

// Groups are the kinds of failures that a chart of the screen distinguishes, by a
// letter, in the order of its stack: the usual effects of a dead node first.
var Groups = [8]struct{ Letter, Name string }{
	{"r", "refused, unreachable"},
	{"c", "connect timeout"},
	{"x", "reset, truncated"},
	{"t", "timeout"},
	{"s", "5xx, server error"},
	{"b", "4xx, bad request"},
	{"L", "local error, stale connection"},
	{"?", "other"},
}

const other = len(Groups) - 1

// traits has every class.
var traits = map[Class]Traits{
	ClassOK:             {0, other, "", ""},
	ClassRefused:        {100, 0, "red", "solid"},
	ClassUnreachable:    {101, 0, "red", "vertical"},
	ClassConnectTimeout: {102, 1, "plum", "rising"},
	ClassReset:          {200, 2, "rust", "level"},
	ClassTruncated:      {201, 2, "rust", "dots"},
	ClassPeerDead:       {202, 2, "plum", "cross"},
	ClassStale:          {203, 6, "grey", "level"},
	ClassFirstByte:      {300, 3, "plum", "falling"},
	ClassIdle:           {301, 3, "plum", "dots"},
	ClassTotal:          {302, 3, "plum", "level"},
	Class4xx:            {400, 5, "ochre", "vertical"},
	Class5xx:            {500, 4, "crimson", "cross"},
	Class502:            {502, 4, "crimson", "falling"},
	Class503:            {503, 4, "crimson", "dots"},
	Class504:            {504, 4, "crimson", "rising"},
	ClassLocal:          {900, 6, "grey", "cross"},
	ClassCancelled:      {910, other, "", ""},
	ClassCensored:       {911, other, "", ""},
	ClassUnsent:         {920, other, "", ""},
}

// Traits returns the traits of the class; a Code of -1 and the last group for an
// unknown one, which a newer program may have recorded.
func (c Class) Traits() Traits {
	if t, ok := traits[c]; ok {
		return t
	}
	return Traits{-1, other, "grey", "solid"}
}

// Code returns the number of the class, which never changes; -1 if the class is unknown.
func (c Class) Code() int { return c.Traits().Code }

// String returns the class as people read it beside a count: "HTTP 502". Records contain
// "502".
func (c Class) String() string {
	if c != "" && c[0] >= '0' && c[0] <= '9' {
		return "HTTP " + string(c)
	}
	return string(c)
}

// Failed reports whether requests of this class count as failed, including those that
// lightsout's own side made fail (ClassLocal, ClassStale).
func (c Class) Failed() bool {
	return c != ClassOK && c != ClassCancelled && c != ClassCensored && c != ClassUnsent
}

// maxErrorText is the length of a server's words in errors, in runes; maxWayText that of a WayError.
const maxErrorText, maxWayText = 200, 1000

// WayError is the error for Options.Dial to return if the route to the target has
// failed, such as a bastion, and not the target itself: the class is then local error,
// whatever the text.
type WayError struct{ Err error }

// Error returns the text of the failure.
func (e *WayError) Error() string { return e.Err.Error() }

// errnoName names the system error in err; empty if there is none.
func errnoName(err error) string {
	e, _ := errors.AsType[syscall.Errno](err)
	return unix.ErrnoName(e)
}

// ofErrno are the classes of system errors, without a connection and on one. Linux reports
// EHOSTUNREACH and the like for a connection only when it has abandoned it (tcp_write_err: the soft
// error, else ETIMEDOUT).
var ofErrno = map[syscall.Errno]struct{ connecting, connected Class }{
	syscall.ECONNREFUSED: {ClassRefused, ClassRefused},
	syscall.EHOSTUNREACH: {ClassUnreachable, ClassPeerDead},
	syscall.EHOSTDOWN:    {ClassUnreachable, ClassPeerDead},
	syscall.ENETUNREACH:  {ClassUnreachable, ClassPeerDead},
	syscall.ENETDOWN:     {ClassUnreachable, ClassPeerDead},
	syscall.ECONNRESET:   {ClassReset, ClassReset},
	syscall.ECONNABORTED: {ClassReset, ClassReset},
	syscall.EPIPE:        {ClassReset, ClassReset},
	syscall.ETIMEDOUT:    {ClassConnectTimeout, ClassPeerDead},
}

// classify returns the class of a network error that the client did not cause, by the
// phase of the request and then by the system error. connected: there was a connection.
// answered: a byte of the answer had come.
//
//	no connection:  refused, unreachable, connect timeout, reset (in TLS), local error
//	no byte yet:    reset (also: closed without an answer), peer dead
//	answer begun:   truncated (closed or not HTTP), reset, peer dead
func classify(connected, answered bool, err error) Class {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		class, known := ofErrno[errno]
		switch {
		case !known:
			return ClassLocal
		case connected:
			return class.connected
		}
		return class.connecting
	}
	switch text := err.Error(); {
	case errors.Is(err, errNotHTTP2):
		return ClassLocal
	case strings.Contains(text, lostText):
		return ClassPeerDead
	case errors.As(err, new(http2.StreamError)):
		return ClassReset
	case !connected:
		return classifyDial(err)
	case answered:
		return ClassTruncated
	}
	return ClassReset
}

// classifyDial is for errors of the connection's set-up that hold no system
// error: names, certificates, and dialers that tell only a text, as an ssh
// bastion does ("connect failed (Connection refused)").
func classifyDial(err error) Class {
	switch {
	case errors.As(err, new(*WayError)), errors.As(err, new(*net.DNSError)), errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(tls.RecordHeaderError)):
		return ClassLocal
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ClassReset
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ClassConnectTimeout
	}
	text := strings.ToLower(text.Innermost(err).Error())
	for _, t := range []struct {
		part  string
		class Class
	}{
		{"refused", ClassRefused},
		{"no route to host", ClassUnreachable},
		{"unreachable", ClassUnreachable},
		{"timed out", ClassConnectTimeout},
		{"timeout", ClassConnectTimeout},
		{"reset by peer", ClassReset},
	} {
		if strings.Contains(text, t.part) {
			return t.class
		}
	}
	return ClassLocal
}

// classOfStatus is the class of an HTTP status; ok below 400.
func classOfStatus(status int) Class {
	switch {
	case status < 400:
		return ClassOK
	case status < 500:
		return Class4xx
	case status >= 502 && status <= 504:
		return Class(strconv.Itoa(status))
	}
	return Class5xx
}

// TimeLimit reports whether one of the client's time limits ended the request.
func (c Class) TimeLimit() bool { return c == ClassTotal || c == ClassIdle || c == ClassFirstByte }
