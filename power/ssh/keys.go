package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	cryptossh "golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"

	"lightsout/internal/text"
)

// SecretQuestion asks for the passphrase of a key file, or for a password.
type SecretQuestion struct {
	// Prompt is the whole question, harmless for a terminal.
	Prompt string
	// File is the key file that needs the passphrase; empty for a password.
	File string
	// Host is user@host, for a password.
	Host string
	// Try counts from 1; more than that means that the last answer was wrong.
	Try int
}

// passphraseTries is how often the client asks for a passphrase, like ssh's
// NumberOfPasswordPrompts.
const passphraseTries = 3

// keyring holds opened key files for the run, so that the client asks for a passphrase
// once. It is safe for concurrent use.
type keyring struct {
	ask    func(context.Context, SecretQuestion) (string, error)
	socket string
	turn   *semaphore.Weighted // held during a question

	opened  sync.Map // a cryptossh.Signer by file
	refused sync.Map // passphrases that the operator did not give
}

func (k *keyring) isRefused(what string) bool {
	_, refused := k.refused.Load(what)
	return refused
}

// errPublicOnly: the IdentityFile is a .pub file, whose key the agent may have.
var errPublicOnly = errors.New("only the public half is there")

// open reads a key file. A nil signer without an error means that the key needs a
// passphrase; its public half may be known anyway.
func (k *keyring) open(file string) (cryptossh.Signer, cryptossh.PublicKey, error) {
	if opened, ok := k.opened.Load(file); ok {
		signer := opened.(cryptossh.Signer)
		return signer, signer.PublicKey(), nil
	}
	pem, err := text.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("the key file can't be read: %w", err)
	}
	signer, err := cryptossh.ParsePrivateKey(pem)
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
	data, err := text.ReadFile(strings.TrimSuffix(file, ".pub") + ".pub")
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
// was opened. It does not ask again in this run for one that the operator did not give.
func (k *keyring) unlock(ctx context.Context, files []string) bool {
	if k.ask == nil || k.turn.Acquire(ctx, 1) != nil {
		return false
	}
	defer k.turn.Release(1)
	any := false
	for _, file := range files {
		if _, open := k.opened.Load(file); open { // while we waited for our turn
			any = true
			continue
		}
		if k.isRefused(file) {
			continue
		}
		if signer := k.unlockOne(ctx, file); signer != nil {
			k.opened.Store(file, signer)
			any = true
		} else if ctx.Err() == nil {
			k.refused.Store(file, true)
		}
	}
	return any
}

func (k *keyring) unlockOne(ctx context.Context, file string) cryptossh.Signer {
	pem, err := text.ReadFile(file)
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
