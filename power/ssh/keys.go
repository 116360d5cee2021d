package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// SecretQuestion asks for the passphrase of a key file.
type SecretQuestion struct {
	Prompt string
	File   string
	// Try counts from 1; more than that means that the last answer was wrong.
	Try int
}

// passphraseTries is how often a passphrase is asked for, like ssh's
// NumberOfPasswordPrompts.
const passphraseTries = 3

// agentTimeout bounds all that is asked of the agent for one connection.
const agentTimeout = 30 * time.Second

// keyring holds opened key files for the run, so that a passphrase is asked
// for once. It is safe for use by several goroutines.
type keyring struct {
	ask    func(context.Context, SecretQuestion) (string, error)
	socket string
	turn   turn

	mu      sync.Mutex
	opened  map[string]cryptossh.Signer
	refused map[string]bool // files whose passphrase was not given
}

// offer is what is shown to one host.
type offer struct {
	signers []cryptossh.Signer
	// locked are key files that need a passphrase and are not in the agent.
	locked []string
	// names say in words where the keys come from.
	names []string
	agent net.Conn
}

func (o *offer) close() {
	if o.agent != nil {
		o.agent.Close()
	}
}

// describe says in words what was offered; never more than names of files.
func (o *offer) describe() string { return strings.Join(o.names, ", ") }

// offer gathers the keys for a host: those of its identity files first (by the
// agent where it holds them), then the agent's others unless IdentitiesOnly is
// set. They make up a single authentication method, for of each method only
// the first instance is used.
func (k *keyring) offer(h host) (*offer, error) {
	o := &offer{}
	inAgent := map[string]cryptossh.Signer{}
	var agentOrder []string
	if k.socket != "" {
		// An agent that is gone is like none: key files may do.
		if conn, err := net.Dial("unix", k.socket); err == nil {
			// A forwarded agent may have a dead link behind it.
			_ = conn.SetDeadline(time.Now().Add(agentTimeout))
			o.agent = conn
			if signers, err := agent.NewClient(conn).Signers(); err == nil {
				for _, s := range signers {
					id := string(s.PublicKey().Marshal())
					inAgent[id] = s
					agentOrder = append(agentOrder, id)
				}
			}
		}
	}
	used := map[string]bool{}
	fromAgent := 0
	take := func(pub cryptossh.PublicKey) bool {
		id := string(pub.Marshal())
		s, ok := inAgent[id]
		if ok && !used[id] {
			used[id] = true
			fromAgent++
			o.signers = append(o.signers, s)
		}
		return ok
	}
	for _, file := range h.identityFiles {
		signer, pub, err := k.open(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && publicOnly(file) != nil:
			take(publicOnly(file)) // the private half is in the agent only
		case errors.Is(err, errPublicOnly):
			take(pub)
		case errors.Is(err, fs.ErrNotExist) && !h.explicit:
		case err != nil:
			o.close()
			return nil, err
		case pub != nil && take(pub):
		case signer == nil:
			o.locked = append(o.locked, file)
		case !used[string(pub.Marshal())]:
			used[string(pub.Marshal())] = true
			o.signers = append(o.signers, signer)
			o.names = append(o.names, file)
		}
	}
	if !h.identitiesOnly {
		for _, id := range agentOrder {
			take(inAgent[id].PublicKey())
		}
	}
	if fromAgent > 0 {
		o.names = append([]string{fmt.Sprintf("%d of the agent", fromAgent)}, o.names...)
	}
	return o, nil
}

// errPublicOnly: the IdentityFile is a .pub file, whose key the agent may have.
var errPublicOnly = errors.New("only the public half is there")

// open reads a key file. A nil signer without an error means that it needs a
// passphrase; the public half may be known all the same.
func (k *keyring) open(file string) (cryptossh.Signer, cryptossh.PublicKey, error) {
	k.mu.Lock()
	signer := k.opened[file]
	k.mu.Unlock()
	if signer != nil {
		return signer, signer.PublicKey(), nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("the key file can't be read: %w", err)
	}
	signer, err = cryptossh.ParsePrivateKey(pem)
	var missing *cryptossh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		pub := missing.PublicKey
		if pub == nil {
			pub = publicOnly(file)
		}
		return nil, pub, nil
	case err != nil:
		if pub, _, _, _, pubErr := cryptossh.ParseAuthorizedKey(pem); pubErr == nil {
			return nil, pub, errPublicOnly
		}
		return nil, nil, fmt.Errorf("the key file %s is not understood: is it a private key in OpenSSH or PEM format?", file)
	}
	return signer, signer.PublicKey(), nil
}

// publicOnly reads the public half next to a key file; nil if there is none.
func publicOnly(file string) cryptossh.PublicKey {
	data, err := os.ReadFile(strings.TrimSuffix(file, ".pub") + ".pub")
	if err != nil {
		return nil
	}
	pub, _, _, _, err := cryptossh.ParseAuthorizedKey(data)
	if err != nil {
		return nil
	}
	return pub
}

// unlock asks for the passphrases of locked files and reports whether any key
// was opened. What was not given is not asked for again in this run.
func (k *keyring) unlock(ctx context.Context, files []string) bool {
	if k.ask == nil || !k.turn.take(ctx) {
		return false
	}
	defer k.turn.free()
	any := false
	for _, file := range files {
		k.mu.Lock()
		_, open := k.opened[file]
		skip := open || k.refused[file]
		k.mu.Unlock()
		any = any || open // while we waited for our turn
		if skip {
			continue
		}
		signer := k.unlockOne(ctx, file)
		k.mu.Lock()
		if signer != nil {
			if k.opened == nil {
				k.opened = map[string]cryptossh.Signer{}
			}
			k.opened[file] = signer
			any = true
		} else if ctx.Err() == nil {
			if k.refused == nil {
				k.refused = map[string]bool{}
			}
			k.refused[file] = true
		}
		k.mu.Unlock()
	}
	return any
}

func (k *keyring) unlockOne(ctx context.Context, file string) cryptossh.Signer {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for try := 1; try <= passphraseTries; try++ {
		answer, err := k.ask(ctx, SecretQuestion{Prompt: "Passphrase for the key " + file, File: file, Try: try})
		if err != nil || answer == "" {
			return nil
		}
		if signer, err := cryptossh.ParsePrivateKeyWithPassphrase(pem, []byte(answer)); err == nil {
			return signer
		}
	}
	return nil
}
