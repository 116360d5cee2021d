package mdx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"lightsout/power"
	"lightsout/power/internal/rest"
)

// parallel is how many requests are under way at once: the portal answers 404
// and 500 under more load.
const parallel = 5

// read sends a GET and repeats it for as long as the portal is busy or can't be
// reached, up to three times more.
func (d *Driver) read(ctx context.Context, path string, reply any) error {
	for try := 0; ; try++ {
		err := d.call(ctx, http.MethodGet, path, nil, reply)
		var status *rest.StatusError
		var after time.Duration
		switch {
		case err == nil, ctx.Err() != nil, try == len(d.pauses), errors.As(err, new(*power.RefusedError)):
			return err
		case errors.As(err, &status):
			if status.Code < 500 && status.Code != http.StatusTooManyRequests {
				return err
			}
			after = status.After
		}
		if !power.Sleep(ctx, max(d.pauses[try], min(after, time.Minute))) {
			return err
		}
	}
}

// call sends a request with the token, and once more with a new one when it is
// refused: a request that is answered 401 was not carried out.
func (d *Driver) call(ctx context.Context, method, path string, body map[string]string, reply any) error {
	token, err := d.tokens.get(ctx, "")
	if err != nil {
		return err
	}
	err = d.send(ctx, method, path, token, body, reply)
	if rest.Code(err) != http.StatusUnauthorized {
		return err
	}
	if token, err = d.tokens.get(ctx, token); err != nil {
		return err
	}
	err = d.send(ctx, method, path, token, body, reply)
	if rest.Code(err) == http.StatusUnauthorized {
		return errToken
	}
	return err
}

// send sends one request, as rest.Client.Do does. Those that switch leave one turn to the
// others: lightsout judges while they have theirs, and polls machines for that.
func (d *Driver) send(ctx context.Context, method, path, token string, body map[string]string, reply any) error {
	turns := []*semaphore.Weighted{d.turns}
	if method == http.MethodPost && path != refreshPath {
		turns = []*semaphore.Weighted{d.switches, d.turns}
	}
	for _, t := range turns {
		if err := t.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("%s %s was not sent: %w", method, path, err)
		}
		defer t.Release(1)
	}
	r := rest.Request{Method: method, URL: d.url + path, Body: body, Secrets: []string{token}}
	if token != "" {
		r.Header = map[string]string{"Authorization": "JWT " + token}
	}
	return d.rest.Do(ctx, r, reply)
}
