package ssh

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	cryptossh "golang.org/x/crypto/ssh"

	"lightsout/power"
)

// connect opens an authenticated connection to a host. It asks for
// passphrases between two attempts, never while a server waits. Passwords come last,
// after the host has accepted no key.
func (c *Client) connect(ctx context.Context, h host, via *link) (client *cryptossh.Client, err error) {
	const attempts = 4 // passphrase, password, and two to spare
	passwords := false
	for range attempts {
		offered := c.keys.offer(h)
		for _, file := range offered.leftOut {
			c.opt.Warn(file)
		}
		passwords = passwords || len(offered.locked) == 0
		client, err = c.attempt(ctx, h, via, offered, passwords)
		offered.close()
		switch {
		case err == nil:
			return client, nil
		case causeOf(err) == causeAuth && len(offered.locked) > 0 && c.keys.unlock(ctx, offered.locked):
		case causeOf(err) == causeAuth && !passwords && c.mayAskPassword(h):
			passwords = true
		case causeOf(err) == causeAuth && len(offered.locked) > 0:
			return nil, connectError(h.String(), causeAuth, err, "%s (%s needs a passphrase that was not given; ssh-add it)", err, strings.Join(offered.locked, ", "))
		default:
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, err
}

// attempt dials a host once and shakes hands.
func (c *Client) attempt(ctx context.Context, h host, via *link, o *offer, passwords bool) (*cryptossh.Client, error) {
	callback, algorithms, err := verifier(h)
	if err != nil {
		return nil, err
	}
	dialling, cancel := context.WithTimeout(ctx, c.opt.ConnectTimeout)
	defer cancel()
	conn, err := c.dialVia(dialling, via, "tcp", h.addr())
	if err != nil {
		return nil, dialFailed(h.String(), err)
	}
	asked := passwordQuestions{client: c, ctx: ctx, host: h, conn: conn, passwords: passwords, offered: o}
	client, err := handshake(ctx, conn, h, &cryptossh.ClientConfig{
		User: h.user, HostKeyCallback: callback, HostKeyAlgorithms: algorithms,
		Auth: append([]cryptossh.AuthMethod{cryptossh.PublicKeys(o.signers...)}, asked.methods()...),
	}, c.opt.ConnectTimeout)
	if err != nil {
		return nil, asked.explain(handshakeFailed(h, o, err))
	}
	return client, nil
}

// handshake makes an ssh client of a connection, within limit and ctx.
func handshake(ctx context.Context, conn net.Conn, h host, cfg *cryptossh.ClientConfig, limit time.Duration) (*cryptossh.Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	client, err := func() (*cryptossh.Client, error) {
		if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
			return nil, err
		}
		inner, channels, requests, err := cryptossh.NewClientConn(conn, h.addr(), cfg)
		if err != nil {
			return nil, err
		}
		return cryptossh.NewClient(inner, channels, requests), conn.SetDeadline(time.Time{})
	}()
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return client, err
}

// passwordTries is how often each way of asking may fail on one connection.
const passwordTries = 3

// errNoAnswer: nobody gave the password that a host asked for.
var errNoAnswer = errors.New("no password was given")

// passwordQuestions shows the operator the questions of a host during authentication.
// It sends the answers to the host and keeps none: the next connection asks again. If
// the operator gives no answer, it does not ask again in this run.
type passwordQuestions struct {
	client *Client
	ctx    context.Context
	host   host
	conn   net.Conn
	// passwords: no key was accepted before, so that a password may be asked for.
	passwords bool
	offered   *offer

	question string // the last one of the host
	refused  bool
	tries    int // how often it was asked
}

// mayAskPassword reports whether a host that takes no key may ask the operator
// for a password.
func (c *Client) mayAskPassword(h host) bool {
	return !h.is("batchmode", "yes") && (h.mayPassword() || h.mayKeyboard()) && c.keys.mayAsk(passwordOf(h))
}

// passwordOf returns the name under which the client remembers a refused password.
func passwordOf(h host) string { return "password of " + h.String() }

// methods gives the ways to log in besides keys. Without anybody to ask, a challenge that
// has no questions is answered (RFC 4256, 3.4).
func (q *passwordQuestions) methods() (out []cryptossh.AuthMethod) {
	if q.host.mayKeyboard() {
		out = append(out, cryptossh.RetryableAuthMethod(cryptossh.KeyboardInteractive(q.challenge), passwordTries))
	}
	if q.passwords && q.host.mayPassword() && q.client.mayAskPassword(q.host) {
		out = append(out, cryptossh.RetryableAuthMethod(cryptossh.PasswordCallback(func() (string, error) {
			return q.ask("Password for " + q.host.String())
		}), passwordTries))
	}
	return out
}

// challenge answers a server's questions (RFC 4256), which it words itself. A server that
// has accepted a key may ask at once.
func (q *passwordQuestions) challenge(_, _ string, questions []string, _ []bool) ([]string, error) {
	answers := make([]string, 0, len(questions))
	for _, question := range questions {
		q.question = strings.TrimSuffix(strings.TrimSpace(power.Clean(question)), ":")
		if !(q.passwords || q.offered.signed) || !q.client.mayAskPassword(q.host) {
			return nil, errNoAnswer
		}
		answer, err := q.ask(q.host.String() + " asks: " + q.question)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// ask asks one question when its turn has come; the time limit of the handshake pauses
// meanwhile.
func (q *passwordQuestions) ask(prompt string) (string, error) {
	c := q.client
	if q.refused {
		return "", errNoAnswer
	}
	if err := q.conn.SetDeadline(time.Time{}); err != nil {
		return "", err
	}
	defer func() { _ = q.conn.SetDeadline(time.Now().Add(c.opt.ConnectTimeout)) }()
	q.tries++
	answer, err := c.keys.inTurn(q.ctx, passwordOf(q.host), SecretQuestion{Prompt: prompt})
	q.refused = err != nil
	return answer, err
}

// explain adds the results of the questions to an error.
func (q *passwordQuestions) explain(err error) error {
	switch signed := q.offered.signed && causeOf(err) == causeAuth; {
	case signed && q.question == "":
		return connectError(q.host.String(), causeSecond, err, "%s accepted a key and wants a second way of login, which lightsout does not have or the ssh configuration rules out", q.host)
	case signed && q.refused:
		return connectError(q.host.String(), causeSecond, err, "%s accepted a key and asked %q, and no answer was given", q.host, q.question)
	case signed && q.tries > 0:
		return connectError(q.host.String(), causeSecond, err, "%s accepted a key, but not the answer to %q", q.host, q.question)
	case signed && q.host.is("batchmode", "yes"):
		return connectError(q.host.String(), causeSecond, err, "%s accepted a key and asks %q, and BatchMode in the ssh configuration forbids to answer; set it to no for this host", q.host, q.question)
	case signed:
		return connectError(q.host.String(), causeSecond, err, "%s accepted a key and asks %q: run lightsout on a terminal to answer", q.host, q.question)
	case q.refused:
		return connectError(q.host.String(), causeAuth, err, "no key was accepted by %s; it asked for a password, and none was given", q.host)
	case q.tries > 0 && causeOf(err) == causeAuth:
		return connectError(q.host.String(), causeAuth, err, "%s accepted neither a key nor the password that was given", q.host)
	}
	return err
}
