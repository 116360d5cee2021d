package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"lightsout/internal/text"
)

// reported is an error whose text is a sentence of ours; the cause stays
// reachable.
type reported struct {
	text  string
	cause error
}

func (e *reported) Error() string { return e.text }
func (e *reported) Unwrap() error { return e.cause }

func sentence(text string, cause error) error { return &reported{harmless(text), cause} }

// why returns the reason why a call failed. need is the right that the call requires,
// absent the meaning of a missing object; empty if there is nothing special.
func (c *Client) why(ctx context.Context, err error, need, absent string) string {
	switch {
	case apierrors.IsForbidden(err):
		return "forbidden; the user needs " + need
	case apierrors.IsNotFound(err) && absent != "":
		return absent
	}
	return c.because(ctx, err)
}

// describe returns, in one sentence, why lightsout could not ask the API server, and
// the next step.
func describe(err error, c *Config) string {
	at := "the API server at " + hostOf(c.Server)
	var unready *notReady
	switch {
	case isOtherCluster(err):
		return otherCluster(err).Error()
	case errors.Is(err, errCredentials):
		return "the kubeconfig's credential plugin does not answer; run kubectl once to see what it waits for"
	case errors.As(err, &unready):
		return fmt.Sprintf("%s answers but is not ready (%s); the data on the screen may be old", at, unready)
	case apierrors.IsUnauthorized(err):
		return at + " refuses the credentials (401); log in again or correct the user in the kubeconfig"
	case apierrors.IsTooManyRequests(err):
		return at + " is overloaded and asks to wait (429)"
	case errors.Is(err, errGone):
		return at + " drops its watch history too early; lightsout shows data from lists"
	case apierrors.IsForbidden(err):
		return at + " forbids it (403); the user lacks the permission"
	}
	if why := unconnected(err, at, c); why != "" {
		return why
	}
	switch {
	case timedOut(err):
		return at + " does not answer; check that it runs and that the route to it is open"
	case connLost(err):
		return at + " closed the connection; it may be restarting"
	case strings.Contains(err.Error(), gettingCredentials):
		return fmt.Sprintf("the kubeconfig's credential plugin failed; run kubectl once to log in, or start lightsout again (%s)", flat(text.Innermost(err)))
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Sprintf("%s answers with an error (%d %s)", at, status.Status().Code, harmless(status.Status().Message))
	}
	if c.Proxy != "" {
		at += " cannot be reached through the proxy " + c.Proxy
	} else {
		at += " cannot be reached"
	}
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	return fmt.Sprintf("%s (%s)", flat(err), at)
}

// unconnected is describe for an error of the connection, from the name to the certificate; empty
// if it is none of these.
func unconnected(err error, at string, c *Config) string {
	var (
		dns    *net.DNSError
		record tls.RecordHeaderError
		alert  tls.AlertError
		verify *tls.CertificateVerificationError
		way    *net.OpError
	)
	switch {
	case errors.As(err, &way) && way.Op == "proxyconnect": // net/http's word
		return fmt.Sprintf("the proxy %s can't be reached (%s); start it, or correct proxy-url in the kubeconfig or HTTPS_PROXY", c.Proxy, flat(text.Innermost(way)))
	case errors.As(err, &dns):
		return fmt.Sprintf("the API server's host name %s cannot be found; check the server address in the kubeconfig and the DNS", harmless(dns.Name))
	case errors.Is(err, syscall.ECONNREFUSED):
		return at + " refuses connections; check that it runs and that the address in the kubeconfig is right"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to " + at + "; check the network, or reach it through a bastion"
	case errors.As(err, &verify):
		return fmt.Sprintf("%s shows a certificate that is not valid for it (%s); check the server address, certificate-authority and tls-server-name in the kubeconfig, "+
			"and this machine's clock", at, flat(verify.Err))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return at + " does not speak TLS; check the scheme and port in the kubeconfig"
	case errors.As(err, &alert):
		return fmt.Sprintf("%s ends the TLS handshake (%s); check the client certificate in the kubeconfig", at, flat(alert))
	}
	return ""
}

// timedOut reports whether err means that the server has stopped answering. net/http
// has no error value for a connection that was closed for this reason, and a watch
// delivers it as a status.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || utilnet.IsTimeout(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// passes reports whether the same request may succeed in a while, because the API server,
// or the way to it, fails only for now.
func passes(err error) bool {
	status := apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
	route := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	return !isOtherCluster(err) && (status || route || connLost(err) || timedOut(err))
}

// connLost reports whether err means that a connection, or its stream, ended before the answer.
// net/http has no error values for those of HTTP/2.
func connLost(err error) bool {
	http2 := slices.ContainsFunc([]string{
		"http2: server sent GOAWAY", "; received from peer",
		"http2: client connection force closed", // net/http could not write to it
	}, func(text string) bool { return strings.Contains(err.Error(), text) })
	return http2 || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed)
}

func hostOf(server string) string {
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		return harmless(u.Host)
	}
	return harmless(server)
}

// deniedSentence reports that the account may not read a kind.
func deniedSentence(kind Kind, namespace string) string {
	where := "in all namespaces"
	switch {
	case kind == KindNode:
		where = "in the cluster"
	case namespace != "":
		where = "in namespace " + harmless(namespace)
	}
	return fmt.Sprintf("forbidden: the user may not list and watch %ss %s", kind, where)
}
