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
func (q *passwordQuestions) methods() []cryptossh.AuthMethod {
	var out []cryptossh.AuthMethod
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
	answer, err := c.keys.inTurn(q.ctx, passwordOf(q.host), SecretQuestion{Prompt: prompt, Host: q.host.String(), Try: q.tries})
	q.refused = err != nil
	return answer, err
}

// explain adds the results of the questions to an error.
func (q *passwordQuestions) explain(err error) error {
	switch signed := q.offered.signed && causeOf(err) == causeAuth; {
	case signed && q.question == "":
		return connectError(q.host.String(), causeAuth, err, "%s accepted a key and wants a second way of login, which lightsout does not have or the ssh configuration rules out", q.host)
	case signed && q.refused:
		return connectError(q.host.String(), causeAuth, err, "%s accepted a key and asked %q, and no answer was given", q.host, q.question)
	case signed && q.tries > 0:
		return connectError(q.host.String(), causeAuth, err, "%s accepted a key, but not the answer to %q", q.host, q.question)
	case signed:
		return connectError(q.host.String(), causeAuth, err, "%s accepted a key and asks %q: run lightsout on a terminal to answer", q.host, q.question)
	case q.refused:
		return connectError(q.host.String(), causeAuth, err, "no key was accepted by %s; it asked for a password, and none was given", q.host)
	case q.tries > 0 && causeOf(err) == causeAuth:
		return connectError(q.host.String(), causeAuth, err, "%s accepted neither a key nor the password that was given", q.host)
	}
	return err
}
