// Package permit carries the permission to switch a machine in a context, from the
// procedure that judges to the driver that sends the request.
package permit

import "context"

type key struct{}

// With returns a context whose permission is what asked returns: nil while lightsout may
// send the request. asked gets the context of the caller of Asked.
func With(ctx context.Context, asked func(context.Context) error) context.Context {
	return context.WithValue(ctx, key{}, asked)
}

// Asked returns nil if lightsout may send a request now. Without a permission it only
// checks that ctx has not ended.
func Asked(ctx context.Context) error {
	if asked, ok := ctx.Value(key{}).(func(context.Context) error); ok {
		return asked(ctx)
	}
	return ctx.Err()
}
