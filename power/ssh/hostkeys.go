package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	cryptossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"lightsout/internal/text"
	"lightsout/power"
)

// verifier gives the callback and the algorithms to ask for with a host. The
// files are read each time: they change while the program runs.
func verifier(h host) (cryptossh.HostKeyCallback, []string, error) {
	db, err := readKnownHosts(slices.Concat(h.knownHosts, h.globalHosts))
	if err != nil {
		return nil, nil, err
	}
	check := db.HostKeyCallback()
	// Behind a jump host the remote address means nothing: only the name counts.
	known := func(key cryptossh.PublicKey) error {
		err := check(h.keyAddr(), &net.TCPAddr{IP: net.IPv4zero}, key)
		if knownhosts.IsHostUnknown(err) && check(h.portless(), &net.TCPAddr{IP: net.IPv4zero}, key) == nil {
			return nil // as ssh does: a line without a port counts too
		}
		return err
	}
	callback := func(_ string, _ net.Addr, key cryptossh.PublicKey) error {
		if cert, ok := key.(*cryptossh.Certificate); ok {
			if authorized(db, h, cert) {
				return checkCertificate(h, cert, known)
			}
			key = cert.Key // as ssh does with a certificate of somebody unknown
		}
		err := known(key)
		if knownhosts.IsHostUnknown(err) {
			return unknown(h, key)
		}
		return explain(h, key, err)
	}
	algorithms := db.HostKeyAlgorithms(h.keyAddr())
	if len(algorithms) == 0 {
		algorithms = db.HostKeyAlgorithms(h.portless())
	}
	return callback, algorithms, nil
}

// readKnownHosts reads the files that can be read. It passes over lines that the library
// can't parse, as ssh does: then it reads copies without them.
func readKnownHosts(files []string) (*knownhosts.HostKeyDB, error) {
	var copies []string
	files = slices.DeleteFunc(files, func(f string) bool { _, err := text.ReadFile(f); return err != nil })
	if db, err := knownhosts.NewDB(files...); err == nil {
		return db, nil
	}
	dir, err := os.MkdirTemp("", "lightsout-known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("the known hosts can't be copied: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, f := range files {
		data, err := text.ReadFile(f)
		name := filepath.Join(dir, f) // original takes dir away
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700))
		lines := strings.Split(string(data), "\n")
		for n, line := range lines { // lines keep their numbers
			err = errors.Join(err, os.WriteFile(name, []byte(line), 0o600))
			if _, wrong := knownhosts.NewDB(name); wrong != nil {
				lines[n] = ""
			}
		}
		if err := errors.Join(err, os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600)); err != nil {
			return nil, err
		}
		copies = append(copies, name)
	}
	return knownhosts.NewDB(copies...)
}

// authorized reports whether the certificate's authority is on record for the
// host (@cert-authority).
func authorized(db *knownhosts.HostKeyDB, h host, cert *cryptossh.Certificate) bool {
	authority := cert.SignatureKey.Marshal()
	return slices.ContainsFunc(db.HostKeys(h.keyAddr()), func(k knownhosts.PublicKey) bool {
		return k.Cert && bytes.Equal(k.Marshal(), authority)
	})
}

// checkCertificate verifies a certificate of a known authority. @revoked may
// name the host's key, or the authority's (sshd(8)).
func checkCertificate(h host, cert *cryptossh.Certificate, known func(cryptossh.PublicKey) error) error {
	for _, key := range []cryptossh.PublicKey{cert.Key, cert.SignatureKey} {
		if err := known(key); errors.As(err, new(*xknownhosts.RevokedError)) {
			return explain(h, key, err)
		}
	}
	if err := known(cert); err != nil {
		return refused(h, "the host certificate of %s (of the authority %s) is not valid: %s; have a new one issued for it, or connect by the name that it is for",
			h, cryptossh.FingerprintSHA256(cert.SignatureKey), power.Clean(strings.TrimPrefix(err.Error(), "ssh: ")))
	}
	return nil
}

// refused is the error that a host's key is not accepted.
func refused(h host, format string, args ...any) error {
	return connectError(h.String(), causeHostKey, nil, format, args...)
}

// copied matches the folder of the copies that readKnownHosts makes.
var copied = regexp.MustCompile(`^.*/lightsout-known-hosts-\d+`)

// original is the name of the file of which there is a copy.
func original(file string) string { return copied.ReplaceAllString(file, "") }

func at(k xknownhosts.KnownKey) string { return fmt.Sprintf("%s:%d", original(k.Filename), k.Line) }

// explain converts the library's error about a key that is revoked or another than before.
func explain(h host, key cryptossh.PublicKey, err error) error {
	var revoked *xknownhosts.RevokedError
	var other *xknownhosts.KeyError
	switch {
	case errors.As(err, &revoked):
		return refused(h, "the host key of %s is marked as revoked in %s: don't connect", h, at(revoked.Revoked))
	case errors.As(err, &other):
		where := text.Each(other.Want, at)
		return refused(h, "the host key of %s is not the one in %s (it is now %s): somebody may be in between; if the machine was reinstalled, remove the old key with ssh-keygen -R '%s' -f %s and connect again",
			h, strings.Join(where, ", "), cryptossh.FingerprintSHA256(key), knownhosts.Normalize(h.keyAddr()), original(other.Want[0].Filename))
	}
	return err
}

// unknown is the error about a host of which no key is on record.
func unknown(h host, key cryptossh.PublicKey) error {
	print := cryptossh.FingerprintSHA256(key)
	if len(h.knownHosts) == 0 || h.knownHosts[0] == os.DevNull { // UserKnownHostsFile none
		return refused(h, "the host key of %s (%s) can't be verified: the ssh configuration keeps none; set UserKnownHostsFile to a file for it, and connect once with ssh", h, print)
	}
	return refused(h, "the host key of %s (%s) is not in %s; check it, and connect once with ssh to record it", h, print, h.knownHosts[0])
}
