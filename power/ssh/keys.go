package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

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
	refused sync.Map // the passphrases and passwords that the operator did not give
}

// private reads a key file. The error is a *PassphraseMissingError if it needs one.
func (k *keyring) private(file string) (cryptossh.Signer, error) {
	if opened, ok := k.opened.Load(file); ok {
		return opened.(cryptossh.Signer), nil
	}
	pem, err := text.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the key file can't be read: %w", err)
	}
	var stat syscall.Stat_t // as ssh does (authfile.c)
	if syscall.Stat(file, &stat) == nil && stat.Mode&0o077 != 0 && int(stat.Uid) == os.Getuid() {
		return nil, fmt.Errorf("other users can read the key file %s: chmod 600 it", file)
	}
	signer, err := cryptossh.ParsePrivateKey(pem)
	if err != nil && !errors.As(err, new(*cryptossh.PassphraseMissingError)) {
		if publicOf(file) != nil {
			return nil, fmt.Errorf("the key in %s works only with an agent that holds it: ssh-add it", file)
		}
		return nil, fmt.Errorf("the key file %s is not understood: is it a private key in OpenSSH or PEM format?", file)
	}
	return signer, err
}

// publicOf returns the public key of an identity file without its passphrase: the file may be public
// itself, have the public key in front of the private one, or beside it in a .pub file.
// It is nil if there is none.
func publicOf(file string) cryptossh.PublicKey {
	for _, name := range []string{file, strings.TrimSuffix(file, ".pub") + ".pub"} {
		data, _ := text.ReadFile(name)
		if pub, _, _, _, err := cryptossh.ParseAuthorizedKey(data); err == nil {
			return pub
		}
		var locked *cryptossh.PassphraseMissingError
		switch signer, err := cryptossh.ParsePrivateKey(data); {
		case err == nil:
			return signer.PublicKey()
		case errors.As(err, &locked) && locked.PublicKey != nil:
			return locked.PublicKey
		}
	}
	return nil
}

// unlock asks for the passphrases of locked files and reports whether any key
// was opened. It does not ask again in this run for one that the operator did not give.
func (k *keyring) unlock(ctx context.Context, files []string) (any bool) {
	if k.turn.Acquire(ctx, 1) != nil {
		return false
	}
	defer k.turn.Release(1)
	for _, file := range files {
		pem, _ := text.ReadFile(file)
		_, open := k.opened.Load(file) // while we waited for our turn
		for try := 1; !open && try <= passphraseTries; try++ {
			answer, err := k.answer(ctx, file, SecretQuestion{Prompt: "Passphrase for the key " + file, File: file})
			if err != nil {
				break
			}
			if signer, err := cryptossh.ParsePrivateKeyWithPassphrase(pem, []byte(answer)); err == nil {
				k.opened.Store(file, signer)
				open = true
			}
		}
		any = any || open
		if !open && ctx.Err() == nil {
			k.refused.Store(file, true)
		}
	}
	return any
}

// mayAsk reports whether there is somebody to ask who has not refused this in this run.
func (k *keyring) mayAsk(what string) bool {
	_, refused := k.refused.Load(what)
	return k.ask != nil && !refused
}

// inTurn is answer when its turn has come.
func (k *keyring) inTurn(ctx context.Context, what string, q SecretQuestion) (string, error) {
	if k.turn.Acquire(ctx, 1) != nil {
		return "", errNoAnswer
	}
	defer k.turn.Release(1)
	return k.answer(ctx, what, q)
}

// answer asks the operator, whose turn the caller holds. What is not given is not asked for
// again in this run, unless it is nameless.
func (k *keyring) answer(ctx context.Context, what string, q SecretQuestion) (string, error) {
	if !k.mayAsk(what) {
		return "", errNoAnswer
	}
	answer, err := k.ask(ctx, q)
	if err == nil && answer != "" {
		return answer, nil
	}
	if what != "" && ctx.Err() == nil {
		k.refused.Store(what, true)
	}
	return "", errNoAnswer
}
