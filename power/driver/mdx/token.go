package mdx

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/sync/semaphore"

	"lightsout/power"
	"lightsout/power/internal/rest"
)

// isToken reports whether text can be a token.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokens keeps the token in use. It is safe for use by several goroutines.
type tokens struct {
	source power.Source
	// exchange trades a token for a new one at the portal.
	exchange func(ctx context.Context, old string) (string, error)
	// turn is held while the fields below are used: also while a token is renewed.
	turn    *semaphore.Weighted
	current string
	read    string // what the source gave last
}

// given reads the source.
func (t *tokens) given() (string, error) {
	token, err := t.source()
	token = strings.TrimSpace(token)
	switch {
	case err != nil:
		return "", &power.RefusedError{Why: err.Error()}
	case !isToken(token):
		return "", &power.RefusedError{Why: "the portal's token is empty or not a token; issue one in the mdx portal (click your name, トークン発行) and put it there"}
	}
	return token, nil
}

// get gives the token to use, which is another one than the portal has refused
// (empty: none). Such a one is replaced by what the source gives now, if that is
// another, else by what the portal gives for it. Of several who ask at once, one
// does it for all.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer t.turn.Release(1)
	if t.current != refused {
		return t.current, nil
	}
	read, err := t.given()
	if err != nil {
		return "", err
	}
	token := read
	if refused != "" && (read == t.read || read == refused) {
		if token, err = t.exchange(ctx, refused); err != nil {
			return "", err
		}
	}
	t.current, t.read = token, read
	return token, nil
}

// errToken reports that the portal refused the token.
var errToken = &power.RefusedError{Why: "the mdx portal refused the token; issue a new one there (click your name, トークン発行) and put it in place of the old one"}

const refreshPath = "/api/refresh/"

// exchange asks the portal for a new token (POST /api/refresh/).
func (d *Driver) exchange(ctx context.Context, old string) (string, error) {
	var reply struct {
		Token string `json:"token"`
	}
	err := d.send(rest.Harmless(ctx), http.MethodPost, refreshPath, "", map[string]string{"token": old}, &reply)
	if code := rest.Code(err); code >= 400 && code < 500 && code != http.StatusTooManyRequests {
		return "", errToken
	}
	if err != nil {
		return "", fmt.Errorf("the token could not be renewed: %w", err)
	}
	if !isToken(reply.Token) {
		return "", errToken
	}
	return reply.Token, nil
}
