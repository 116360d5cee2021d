package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"
	"golang.org/x/sync/semaphore"

	"lightsout/power"
	"lightsout/power/internal/secret"
)

// said makes a sentence of what the library says of one command.
func said(err error, what string) error {
	if reply, ok := errors.AsType[*types.ResponseError](err); ok {
		return &power.RefusedError{Why: fmt.Sprintf("the controller refuses %s: %s (completion code %#02x)",
			what, power.Clean(reply.CompletionCode().String()), uint8(reply.CompletionCode()))}
	}
	return &power.SilentError{Text: fmt.Sprintf("the controller does not answer %s: %s", what, cause(err)), Err: err}
}

// noResult are the completion codes that do not tell whether the controller carried the
// command out (IPMI 2.0, table 5-2): timeout, no response, a duplicate of a request that may
// have been carried out, an update or initialization in progress, an unspecified error.
var noResult = []uint8{0xC3, 0xCE, 0xCF, 0xD0, 0xD1, 0xD2, 0xFF}

// otherState is the completion code of a command that the present state does not support: the
// machine is off already, or goes off.
const otherState = 0xD5

// isCode reports whether a controller answered with one of the completion codes.
func isCode(err error, codes ...uint8) bool {
	reply := new(*types.ResponseError)
	return errors.As(err, reply) && slices.Contains(codes, uint8((*reply).CompletionCode()))
}

// cause is the end of the library's chain of errors, which repeats itself.
func cause(err error) string {
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		return power.Why(network.Err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return power.Why(err)
	}
	said := strings.Split(err.Error(), "err: ")
	return power.Clean(said[len(said)-1])
}

// talk logs in to a machine's controller, runs the commands, and logs out.
func (d *Driver) talk(ctx context.Context, m power.Machine, do func(context.Context, *client.Client) error) error {
	host, p, err := net.SplitHostPort(m.ID)
	number, portErr := net.LookupPort("udp", p)
	if err != nil || portErr != nil || host == "" {
		return &power.RefusedError{Why: fmt.Sprintf("%q is not the address of a controller", power.Clean(m.ID))}
	}
	password, err := d.password()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &power.SilentError{Text: "lightsout sent nothing to the controller: it stopped waiting", Err: err}
	}
	held, _ := d.turns.LoadOrStore(m.ID, semaphore.NewWeighted(1))
	turn := held.(*semaphore.Weighted)
	if err := turn.Acquire(ctx, 1); err != nil {
		return &power.SilentError{Text: "lightsout sent nothing to the controller: it was busy with another request", Err: err}
	}
	defer turn.Release(1)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // the library joins it to the port as it is
	}
	c, err := client.NewClient(host, number, d.opt.User, password)
	if err != nil {
		return &power.RefusedError{Why: "lightsout cannot start an IPMI session with the user of power.ipmi"}
	}
	c.WithTimeout(d.resend).WithRetry(resends).WithMaxPrivilegeLevel(types.PrivilegeLevelOperator).
		WithCipherSuiteID(types.CipherSuiteID17, types.CipherSuiteID3)
	connected := c.Connect(ctx)
	// Logging out is not waited for when nobody answers. It also closes the socket.
	out, stop := context.WithTimeout(context.WithoutCancel(ctx), d.resend)
	defer stop()
	if connected != nil || ctx.Err() != nil {
		stop()
	}
	defer func() { _ = c.Close(out) }()
	if connected != nil {
		return d.notConnected(ctx, m, connected)
	}
	return do(ctx, c)
}

// silenceSigns are parts of the library's errors about a controller that does not answer.
var silenceSigns = []string{"timeout", "connection refused", "unreachable", "no datagram", "resolve addr failed", "dial failed"}

// rejectSigns are parts of the library's errors about a login that the controller rejects, in
// one cipher suite at least: role, privilege, name, or password.
var rejectSigns = []string{
	"RMCP+ status 0x09", "RMCP+ status 0x0a", "RMCP+ status 0x0d", "RMCP+ status 0x0f", "authentication code mismatch", "integrity check value does not match",
}

// busySigns are the RMCP+ status codes of a controller that has no free session, or has given
// away the one of this login (IPMI 2.0, table 13-15). The library gives them only in its text.
var busySigns = []string{"RMCP+ status 0x01", "RMCP+ status 0x02", "RMCP+ status 0x08", "RMCP+ status 0x0b"}

// notConnected tells a controller that does not answer, or that has no free session, from one
// that does not let us in. Only the last is a refusal: the others may change by themselves.
func (d *Driver) notConnected(ctx context.Context, m power.Machine, err error) error {
	text := err.Error()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	said := func(sign string) bool { return strings.Contains(text, sign) }
	name := power.Clean(m.ID)
	switch {
	case ctx.Err() != nil, slices.ContainsFunc(silenceSigns, said):
		return &power.SilentError{Text: fmt.Sprintf("the controller %s does not answer: %s", name, cause(err)), Err: err}
	case slices.ContainsFunc(busySigns, said) && !slices.ContainsFunc(rejectSigns, said):
		return fmt.Errorf("the controller %s has no free session, because other programs hold them (%s); lightsout sent no request", name, secret.Say(cause(err)))
	}
	return &power.RefusedError{Why: fmt.Sprintf("the controller %s rejects %s as operator (%s); check user and password under power.ipmi",
		name, power.Clean(d.opt.User), secret.Say(cause(err)))}
}
