package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"lightsout/internal/text"
)

// agentTimeout bounds all requests to the agent for one connection.
const agentTimeout = 30 * time.Second

// offer is the list of keys for one host. The keys make up a single authentication
// method, because ssh uses only the first instance of each method.
type offer struct {
	signers []cryptossh.Signer
	// locked are key files that need a passphrase and are not in the agent.
	locked []string
	// names say in words where the keys come from.
	names []string
	agent net.Conn

	used      map[string]bool
	fromAgent int
	inAgent   []agentKey
	// certificates from files, by the key that each is for.
	certificates map[string][]certificate
}

// agentKey is a key or certificate that the agent holds.
type agentKey struct {
	signer cryptossh.Signer
	// plain is the key itself; for a certificate, the one that it is for.
	plain string
	cert  bool
}

// certificate is a user certificate in a file.
type certificate struct {
	*cryptossh.Certificate
	file string
}

func (o *offer) close() {
	if o.agent != nil {
		o.agent.Close()
	}
}

// describe describes the offered keys in words; never more than names of files.
func (o *offer) describe() string {
	names := o.names
	if o.fromAgent > 0 {
		names = append([]string{fmt.Sprintf("%d of the agent", o.fromAgent)}, names...)
	}
	return strings.Join(names, ", ")
}

// offer gathers the keys for a host: those of its identity files first (by the
// agent where it holds them), each after the certificates for it, then the
// agent's others unless IdentitiesOnly is set.
func (k *keyring) offer(h host) (*offer, error) {
	o := &offer{used: map[string]bool{}, certificates: map[string][]certificate{}}
	o.askAgent(k.socketFor(h))
	if err := o.readCertificates(h); err != nil {
		o.close()
		return nil, err
	}
	for _, file := range h.identityFiles {
		signer, pub, err := k.open(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && publicOnly(file) != nil:
			o.take(publicOnly(file), nil, file) // the private half is in the agent only
		case errors.Is(err, errPublicOnly):
			o.take(pub, nil, file)
		case errors.Is(err, fs.ErrNotExist) && !h.explicit:
		case err != nil:
			o.close()
			return nil, err
		case pub != nil && o.holds(pub):
			o.take(pub, nil, file)
		case signer == nil:
			o.locked = append(o.locked, file)
		default:
			o.take(pub, signer, file)
		}
	}
	for _, a := range o.inAgent { // certificates of keys that the agent alone has
		if !a.cert {
			o.addCertificates(a.plain, a.signer)
		}
	}
	if !h.identitiesOnly {
		for _, a := range o.inAgent {
			o.add(a.signer, "")
		}
	}
	return o, nil
}

func (k *keyring) socketFor(h host) string {
	switch h.agent {
	case "":
		return k.socket
	case "none":
		return ""
	}
	return h.agent
}

// askAgent lists the keys in the agent. A missing agent counts as an empty one: key
// files may suffice.
func (o *offer) askAgent(socket string) {
	if socket == "" {
		return
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	// A forwarded agent may have a dead link behind it.
	_ = conn.SetDeadline(time.Now().Add(agentTimeout))
	o.agent = conn
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return
	}
	for _, s := range signers {
		key := agentKey{signer: s, plain: blob(s.PublicKey())}
		// What the agent's client gives is no Certificate by its type.
		if pub, err := cryptossh.ParsePublicKey(s.PublicKey().Marshal()); err == nil {
			if cert, ok := pub.(*cryptossh.Certificate); ok {
				key.plain, key.cert = blob(cert.Key), true
			}
		}
		o.inAgent = append(o.inAgent, key)
	}
}

func blob(key cryptossh.PublicKey) string { return string(key.Marshal()) }

// readCertificates reads the certificates next to the identity files and those named by
// CertificateFile, which must exist.
func (o *offer) readCertificates(h host) error {
	read := func(file string) error {
		data, err := text.ReadFile(file)
		if err != nil {
			return fmt.Errorf("the certificate can't be read: %w", err)
		}
		pub, _, _, _, err := cryptossh.ParseAuthorizedKey(data)
		cert, ok := pub.(*cryptossh.Certificate)
		if err != nil || !ok || cert.CertType != cryptossh.UserCert {
			return fmt.Errorf("the file %s holds no user certificate; ssh-keygen -L -f shows what it is", file)
		}
		plain := blob(cert.Key)
		o.certificates[plain] = append(o.certificates[plain], certificate{cert, file})
		return nil
	}
	for _, file := range h.identityFiles {
		beside := strings.TrimSuffix(file, ".pub") + "-cert.pub"
		if err := read(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, file := range h.certificates {
		if err := read(file); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the agent can sign with a key or a certificate for it.
func (o *offer) holds(pub cryptossh.PublicKey) bool {
	return slices.ContainsFunc(o.inAgent, func(a agentKey) bool { return a.plain == blob(pub) })
}

// take offers a key and the certificates for it: by the agent where it holds
// them, else by signer if there is one.
func (o *offer) take(pub cryptossh.PublicKey, signer cryptossh.Signer, file string) {
	plain := blob(pub)
	for _, a := range o.inAgent {
		switch {
		case a.plain != plain:
		case a.cert:
			o.add(a.signer, "")
		default:
			signer, file = a.signer, ""
		}
	}
	if signer != nil {
		o.addCertificates(plain, signer)
		o.add(signer, file)
	}
}

// addCertificates offers the certificates for a key that signer can sign with.
func (o *offer) addCertificates(plain string, signer cryptossh.Signer) {
	for _, c := range o.certificates[plain] {
		name := c.file
		if before := c.ValidBefore; before != cryptossh.CertTimeInfinity && uint64(time.Now().Unix()) >= before {
			name += ", which has expired"
		}
		if s, err := cryptossh.NewCertSigner(c.Certificate, signer); err == nil {
			o.add(s, name)
		}
	}
}

// add offers a signer once. An empty name means that it is the agent's.
func (o *offer) add(s cryptossh.Signer, name string) {
	id := blob(s.PublicKey())
	if o.used[id] {
		return
	}
	o.used[id] = true
	o.signers = append(o.signers, s)
	if name == "" {
		o.fromAgent++
	} else {
		o.names = append(o.names, name)
	}
}
