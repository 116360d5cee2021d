package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// maxErrorText is the length of error texts, in runes.
const maxErrorText = 240

// errnos are the system errors that are told by name.
var errnos = map[syscall.Errno]string{
	syscall.ECONNREFUSED:  "ECONNREFUSED",
	syscall.EHOSTUNREACH:  "EHOSTUNREACH",
	syscall.EHOSTDOWN:     "EHOSTDOWN",
	syscall.ENETUNREACH:   "ENETUNREACH",
	syscall.ENETDOWN:      "ENETDOWN",
	syscall.ECONNRESET:    "ECONNRESET",
	syscall.ECONNABORTED:  "ECONNABORTED",
	syscall.EPIPE:         "EPIPE",
	syscall.ETIMEDOUT:     "ETIMEDOUT",
	syscall.EADDRNOTAVAIL: "EADDRNOTAVAIL",
	syscall.EADDRINUSE:    "EADDRINUSE",
	syscall.EMFILE:        "EMFILE",
	syscall.ENFILE:        "ENFILE",
	syscall.ENOBUFS:       "ENOBUFS",
	syscall.ENOMEM:        "ENOMEM",
	syscall.EACCES:        "EACCES",
	syscall.EPERM:         "EPERM",
}

// errnoName names the system error in err; empty if there is none.
func errnoName(err error) string {
	var e syscall.Errno
	if errors.As(err, &e) {
		return errnos[e]
	}
	return ""
}

// classify tells the class of a network error that is not of our own doing,
// by the phase in which it came and then by its system error. connected says
// that there was a connection, answered that a byte of the answer had come.
//
//	no connection:  refused, unreachable, connect timeout, reset (in TLS), client fault
//	no byte yet:    reset (also: closed without an answer), peer dead, unreachable
//	answer begun:   truncated (closed or not HTTP), reset, peer dead, unreachable
func classify(connected, answered bool, err error) Class {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case syscall.ECONNREFUSED:
			return ClassRefused
		case syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN:
			return ClassUnreachable
		case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE:
			return ClassReset
		case syscall.ETIMEDOUT:
			if connected {
				return ClassPeerDead
			}
			return ClassConnectTimeout
		default:
			return ClassClient
		}
	}
	if !connected {
		return classifyDial(err)
	}
	if answered {
		return ClassTruncated
	}
	return ClassReset
}

// classifyDial is for errors of the connection's set-up that hold no system
// error: names, certificates, and dialers that tell only a text, as an ssh
// bastion does ("connect failed (Connection refused)").
func classifyDial(err error) Class {
	var (
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		netErr  net.Error
	)
	switch {
	case errors.As(err, &dns), errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &record):
		return ClassClient
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ClassReset
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ClassConnectTimeout
	}
	text := strings.ToLower(err.Error())
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
	if errors.As(err, &netErr) && netErr.Timeout() {
		return ClassConnectTimeout
	}
	return ClassClient
}

// classOfStatus is the class of an HTTP status; ok below 400.
func classOfStatus(status int) Class {
	switch {
	case status < 400:
		return ClassOK
	case status < 500:
		return Class4xx
	case status == 502:
		return Class502
	case status == 503:
		return Class503
	case status == 504:
		return Class504
	}
	return Class5xx
}
