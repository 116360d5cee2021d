package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	cryptossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
	"lightsout/power"
)

// HostKeyQuestion asks about a host whose key is not on record.
type HostKeyQuestion struct {
	// Host is user@host:port; KeyType and Fingerprint ("SHA256:…") are those
	// of the key that it has shown.
	Host, KeyType, Fingerprint string
	// File is where the key is written on yes.
	File string
}

// hostKeys verifies host keys. It keeps the answers, so that it asks a question once in
// a run. It is safe for concurrent use.
type hostKeys struct {
	ask  func(context.Context, HostKeyQuestion) (bool, error)
	turn *semaphore.Weighted // held during a question

	answers sync.Map // true or false by address and key
}

// errUnknownHost ends a handshake, so that the client can ask the operator without a
// waiting server; the client then connects again.
type errUnknownHost struct{ key cryptossh.PublicKey }

func (e *errUnknownHost) Error() string { return "no known_hosts file has the host key" }

// verifier gives the callback and the algorithms to ask for with a host. The
// files are read each time: they change while the program runs.
func (k *hostKeys) verifier(h host) (cryptossh.HostKeyCallback, []string, error) {
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
			if yes, _ := k.answers.Load(answerKey(h, key)); yes == true {
				return nil
			}
			return &errUnknownHost{key: key}
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
		var where []string
		for _, k := range other.Want {
			where = append(where, at(k))
		}
		return refused(h, "the host key of %s is not the one in %s (it is now %s): somebody may be in between; if the machine was reinstalled, remove the old key with ssh-keygen -R '%s' -f %s and connect again",
			h, strings.Join(where, ", "), cryptossh.FingerprintSHA256(key), knownhosts.Normalize(h.keyAddr()), original(other.Want[0].Filename))
	}
	return err
}

func answerKey(h host, key cryptossh.PublicKey) string {
	return h.keyAddr() + "\x00" + string(key.Marshal())
}

// question settles an unknown host: nil means that it may be dialled again.
// A key that was refused stays refused for this run.
func (k *hostKeys) question(ctx context.Context, h host, key cryptossh.PublicKey) error {
	print := cryptossh.FingerprintSHA256(key)
	file := slices.Concat(h.knownHosts, []string{os.DevNull})[0] // UserKnownHostsFile none
	if err := k.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer k.turn.Release(1)
	answer, asked := k.answers.Load(answerKey(h, key))
	switch {
	case answer == true:
		return nil
	case !asked && k.ask == nil && file == os.DevNull:
		return refused(h, "the host key of %s (%s) can't be verified: the ssh configuration keeps none; set UserKnownHostsFile to a file for it, and connect once with ssh", h, print)
	case !asked && k.ask == nil:
		return refused(h, "the host key of %s (%s) is not in %s; check it, and connect once with ssh to record it", h, print, file)
	case !asked:
		yes, err := k.ask(ctx, HostKeyQuestion{Host: h.String(), KeyType: key.Type(), Fingerprint: print, File: file})
		if err != nil {
			return refused(h, "the host key of %s (%s) is not in %s, and nobody answered whether it is right: %s", h, print, file, power.Clean(err.Error()))
		}
		k.answers.Store(answerKey(h, key), yes)
		if yes {
			return record(file, h, key)
		}
	}
	return refused(h, "the host key of %s (%s) was not accepted; start again to be asked again", h, print)
}

// record appends a key to a known_hosts file, on a line of its own.
func record(file string, h host, key cryptossh.PublicKey) error {
	if file == os.DevNull {
		return nil // kept for this run only
	}
	var line bytes.Buffer
	if had, _ := os.ReadFile(file); len(had) > 0 && !bytes.HasSuffix(had, []byte("\n")) {
		line.WriteByte('\n')
	}
	_ = knownhosts.WriteKnownHost(&line, h.keyAddr(), &net.TCPAddr{IP: net.IPv4zero}, key) // a buffer takes it
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	f, cannot := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err = errors.Join(err, cannot); err == nil {
		_, err = line.WriteTo(f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return refused(h, "the host key of %s can't be recorded: %s", h, power.Clean(err.Error()))
	}
	return nil
}
