package ssh

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"lightsout/internal/text"
	"lightsout/power"
)

// agentTimeout bounds all requests to the agent for one connection.
const agentTimeout = 30 * time.Second

// offer is the list of keys for one host. The keys make up a single authentication
// method, because ssh uses only the first instance of each method.
type offer struct {
	signers []cryptossh.Signer
	// locked are key files that need a passphrase and are not in the agent.
	locked []string
	// names say where each key comes from: its file, or empty for the agent.
	names []string
	// leftOut has the reason for each file that can't be used.
	leftOut []string
	agent   net.Conn
	// signed: the host accepted a key and got a signature.
	signed bool

	inAgent      []agentKey
	certificates []certificate
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

// without names the files that were left out, for the end of a sentence.
func (o *offer) without() string {
	if len(o.leftOut) == 0 {
		return ""
	}
	return " (left out: " + power.Clean(strings.Join(o.leftOut, ", ")) + ")"
}

// describe describes the offered keys in words; never more than names of files.
func (o *offer) describe() string {
	names := slices.DeleteFunc(slices.Clone(o.names), func(n string) bool { return n == "" })
	if agents := len(o.names) - len(names); agents > 0 {
		names = append([]string{fmt.Sprintf("%d of the agent", agents)}, names...)
	}
	return strings.Join(names, ", ")
}

// offer gathers the keys for a host: those of its identity files first (by the
// agent where it holds them), each after the certificates for it, then the
// agent's others unless IdentitiesOnly is set. It leaves out files that can't be used.
func (k *keyring) offer(h host) *offer {
	o := &offer{}
	socket := h.agent
	if socket == "" || socket == "SSH_AUTH_SOCK" {
		socket = k.socket
	}
	o.askAgent(socket)
	o.readCertificates(h)
	for _, file := range h.identityFiles {
		pub := publicOf(file)
		if pub != nil && o.take(pub, nil, file) {
			continue
		}
		signer, err := k.private(file)
		switch {
		case err == nil:
			o.take(signer.PublicKey(), signer, file)
		case errors.As(err, new(*cryptossh.PassphraseMissingError)):
			o.locked = append(o.locked, file)
		case !mayMiss(file) || !errors.Is(err, fs.ErrNotExist):
			o.leftOut = append(o.leftOut, err.Error())
		}
	}
	for _, a := range o.inAgent {
		if !a.cert { // a key that the agent alone has may have a certificate in a file
			o.addCertificates(a.plain, a.signer)
		}
		if !h.is("identitiesonly", "yes") {
			o.add(a.signer, "")
		}
	}
	return o
}

// askAgent lists the keys in the agent. A missing agent counts as an empty one: key
// files may suffice.
func (o *offer) askAgent(socket string) {
	if socket == "" || strings.EqualFold(socket, "none") {
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
// CertificateFile.
func (o *offer) readCertificates(h host) {
	beside := len(h.certificates)
	own := text.Each(h.identityFiles, func(file string) string { return strings.TrimSuffix(file, ".pub") + "-cert.pub" })
	for i, file := range slices.Concat(h.certificates, own) {
		data, err := text.ReadFile(file)
		if err != nil {
			if i < beside || !errors.Is(err, fs.ErrNotExist) {
				o.leftOut = append(o.leftOut, "the certificate can't be read: "+err.Error())
			}
			continue
		}
		pub, _, _, _, err := cryptossh.ParseAuthorizedKey(data)
		cert, ok := pub.(*cryptossh.Certificate)
		if err != nil || !ok || cert.CertType != cryptossh.UserCert {
			o.leftOut = append(o.leftOut, "the file "+file+" holds no user certificate; ssh-keygen -L -f shows what it is")
			continue
		}
		o.certificates = append(o.certificates, certificate{cert, file})
	}
}

// take offers a key and the certificates for it: by the agent where it holds
// them, else by signer if there is one. It reports whether the agent holds any.
func (o *offer) take(pub cryptossh.PublicKey, signer cryptossh.Signer, file string) (held bool) {
	plain := blob(pub)
	for _, a := range o.inAgent {
		switch held = held || a.plain == plain; {
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
	return held
}

// addCertificates offers the certificates for a key that signer can sign with.
func (o *offer) addCertificates(plain string, signer cryptossh.Signer) {
	for _, c := range o.certificates {
		if blob(c.Key) != plain {
			continue
		}
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
	same := func(other cryptossh.Signer) bool { return blob(other.PublicKey()) == blob(s.PublicKey()) }
	if !slices.ContainsFunc(o.signers, same) {
		o.signers, o.names = append(o.signers, o.watch(s)), append(o.names, name)
	}
}

// watched is a signer that tells its offer when it signs.
type watched struct {
	cryptossh.AlgorithmSigner
	offer *offer
}

// SignWithAlgorithm signs: the host has accepted the key.
func (w watched) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*cryptossh.Signature, error) {
	signature, err := w.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
	w.offer.signed = w.offer.signed || err == nil
	return signature, err
}

// watch returns the signer with the same algorithms, watched.
func (o *offer) watch(s cryptossh.Signer) cryptossh.Signer {
	inner, ok := s.(cryptossh.AlgorithmSigner)
	if !ok {
		return s
	}
	if multi, ok := s.(cryptossh.MultiAlgorithmSigner); ok {
		if w, err := cryptossh.NewSignerWithAlgorithms(watched{inner, o}, multi.Algorithms()); err == nil {
			return w
		}
	}
	return watched{inner, o}
}
