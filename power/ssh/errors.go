package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/skeema/knownhosts"
	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

// errClosed reports that the client was closed.
var errClosed = errors.New("the ssh client is closed")

// cause is the reason why a host could not be reached.
type cause int

// Causes.
const (
	// causeOther is anything else.
	causeOther cause = iota
	// causeSilent: no answer in time, or no route to the host.
	causeSilent
	// causeRefused: the host is up and refuses connections to that port.
	causeRefused
	// causeAuth: no key was accepted.
	causeAuth
	// causeSecond: a key was accepted, and the login after it failed.
	causeSecond
	// causeHostKey: the host's key is unknown, changed or revoked.
	causeHostKey
	// causeLost: the connection was lost while it was being made.
	causeLost
)

// ConnectError is the reason why a host could not be reached: the client sent it
// nothing.
type ConnectError struct {
	// Host is user@host:port, or host:port for what lies behind the bastion.
	Host  string
	cause cause
	// text is the whole sentence.
	text string
	err  error
}

// Error returns one sentence with the next step.
func (e *ConnectError) Error() string { return e.text }

// Lost reports whether the connection was lost while it was being made.
func (e *ConnectError) Lost() bool { return e.cause == causeLost }

// Todo is what to do where the host answers and does not let lightsout in; empty for any
// other cause.
func (e *ConnectError) Todo() string { return todo[e.cause] }

var todo = map[cause]string{
	causeAuth:    "check the user, and that the host accepts one of your keys",
	causeRefused: "check its port, and that its ssh server runs",
	causeSecond:  "connect once with ssh, to see what it asks for after the key",
	causeHostKey: "compare its host key with the host's own before you accept it",
}

// Unwrap gives the error beneath.
func (e *ConnectError) Unwrap() error { return e.err }

// connectError makes a ConnectError about a host; err is beneath it.
func connectError(host string, c cause, err error, format string, args ...any) *ConnectError {
	return &ConnectError{Host: host, cause: c, err: err, text: fmt.Sprintf(format, args...)}
}

// dialFailed converts the error of a dialer for what into a ConnectError.
func dialFailed(what string, err error) error {
	if errors.As(err, new(*ConnectError)) {
		return err
	}
	var dns *net.DNSError
	var open *cryptossh.OpenChannelError
	if errors.As(err, &open) && open.Reason == cryptossh.ConnectionFailed {
		for said, errno := range farEnds {
			if strings.Contains(strings.ToLower(open.Message), said) {
				err = fmt.Errorf("%w: %w", err, errno)
			}
		}
	}
	say := func(c cause, format string, args ...any) error {
		return connectError(what, c, err, format, args...)
	}
	switch {
	case errors.As(err, &dns):
		return say(causeOther, "the host name of %s can't be resolved (%s); check its spelling or add it to the ssh configuration", what, power.Clean(dns.Err))
	case errors.As(err, &open) && open.Reason == cryptossh.ResourceShortage:
		return say(causeOther, "the bastion has no room for a connection to %s (%s)", what, power.Clean(open.Message))
	case errors.As(err, &open) && open.Reason == cryptossh.Prohibited:
		return say(causeOther, "the bastion does not allow a connection to %s; check AllowTcpForwarding and PermitOpen there", what)
	case errors.Is(err, syscall.ECONNREFUSED):
		return say(causeRefused, "%s refused the connection: the host is up, and nothing listens there", what)
	case isTimeout(err):
		return say(causeSilent, "%s does not answer: it is off, unreachable from here, or a firewall is in between", what)
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return say(causeSilent, "there is no route to %s: it is off, or unreachable from here", what)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &open):
		return say(causeSilent, "the bastion can't connect to %s (%s)", what, power.Clean(open.Message))
	case isLost(err):
		return say(causeLost, "the connection was lost on the way to %s", what)
	}
	return say(causeOther, "%s can't be reached: %s", what, power.Clean(err.Error()))
}

// farEnds maps an ssh server's messages about a connection that it could not make to
// system errors: OpenSSH sends strerror's text, other servers more text around it.
var farEnds = map[string]syscall.Errno{
	"connection refused": syscall.ECONNREFUSED, "timed out": syscall.ETIMEDOUT,
	"no route to host": syscall.EHOSTUNREACH, "unreachable": syscall.ENETUNREACH,
}

// handshakeFailed converts an error after the connection into a ConnectError. o are the
// offered keys.
func handshakeFailed(h host, o *offer, err error) error {
	var already *ConnectError
	var negotiation *cryptossh.AlgorithmNegotiationError
	say := func(c cause, format string, args ...any) error {
		return connectError(h.String(), c, err, format, args...)
	}
	text := err.Error()
	switch {
	case errors.As(err, &already): // with the library's words around it
		return already
	case errors.As(err, &negotiation) && strings.Contains(negotiation.What, "host key"):
		return say(causeHostKey, "%s offers no host key of the kind in %s; if it was reinstalled, remove its lines with ssh-keygen -R '%s' and connect again",
			h, strings.Join(h.knownHosts, ", "), knownhosts.Normalize(h.keyAddr()))
	case errors.As(err, &negotiation):
		return say(causeOther, "%s and this program have no %s algorithm in common", h, strings.TrimPrefix(negotiation.What, "client to server "))
	case errors.Is(err, errNoAnswer) || strings.Contains(text, "unable to authenticate") || strings.Contains(text, "Too many authentication failures"):
		if len(o.signers) == 0 {
			return say(causeAuth, "there is no key to offer to %s%s; start an agent and ssh-add one, or set an IdentityFile for it", h, o.without())
		}
		return say(causeAuth, "none of the keys (%s) was accepted by %s%s; check the user, the IdentityFile and what ssh-add -l lists", o.describe(), h, o.without())
	case errors.Is(err, context.Canceled):
		return err
	case isTimeout(err):
		return say(causeSilent, "%s accepted the connection and then sent nothing; it may be overloaded, or not an ssh server", h)
	case isLost(err):
		return say(causeLost, "%s closed the connection before it was ready; its sshd may be shutting down, overloaded or refusing this address", h)
	}
	return say(causeOther, "there is no ssh connection to %s: %s", h, power.Clean(strings.TrimPrefix(text, "ssh: handshake failed: ")))
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// isLost reports whether an error is the end of a connection.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
