package ssh

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// BastionIdentity holds the properties that identify the bastion and the jump hosts
// before it.
type BastionIdentity struct {
	// Names are their aliases, and the bastion's own word for itself.
	Names []string
	// Addresses are the IPs to which their names resolve here, and those that the
	// bastion itself reports (hostname -I), which differ if it is in two networks:
	// without ports and loopback addresses.
	Addresses []string
	// Unknown names the hosts whose addresses lightsout could not find out, including a
	// bastion without a shell or without the commands for that.
	Unknown []string
}

// Reach connects to the bastion, unless that is done already. The error is the reason,
// in one sentence, why it cannot. Without a bastion it does nothing.
func (c *Client) Reach(ctx context.Context) error {
	if c.bastion == nil {
		return nil
	}
	_, err := c.bastion.get(ctx)
	return err
}

// BastionIdentity returns the facts about the bastion that it can find out within a few
// seconds. A client asks once, and again if there was no answer in time.
func (c *Client) BastionIdentity(ctx context.Context) (id BastionIdentity) {
	if c.bastion == nil {
		return BastionIdentity{}
	}
	c.identity.mu.Lock()
	defer c.identity.mu.Unlock()
	if c.identity.asked {
		return c.identity.known
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var addresses []string
	reported := false // the bastion has returned its addresses
	for hop := c.bastion; hop != nil; hop = hop.via {
		ips, err := net.DefaultResolver.LookupHost(ctx, hop.host.name)
		addresses = append(addresses, ips...)
		id.Names = append(id.Names, hop.host.alias, hop.host.name)
		if err != nil && hop != c.bastion {
			id.Unknown = append(id.Unknown, hop.host.alias)
		}
	}
	if _, err := c.bastion.get(ctx); err == nil {
		var r result
		for _, command := range []string{"hostname; hostname -I", "hostname; ip -o addr"} { // the second for hosts that only have busybox
			r, err = c.runOnBastion(ctx, marked(command))
			name, ips, more := strings.Cut(strings.TrimSpace(output(r)), "\n")
			if reported = err == nil && r.Outcome == succeeded && more; reported {
				id.Names = append(id.Names, strings.TrimSpace(name))
				addresses = append(addresses, strings.Fields(ips)...)
				break
			}
		}
		// Asked: the bastion has answered, even if it gives no shell. Without an answer
		// in time the client asks again.
		c.identity.asked = ctx.Err() == nil && (err != nil || r.Outcome != uncertain)
	}
	if !reported {
		id.Unknown = append(id.Unknown, c.bastion.host.alias)
	}
	for _, a := range addresses {
		a, _, _ = strings.Cut(a, "/")
		if ip, err := netip.ParseAddr(a); err == nil && !ip.IsLoopback() {
			id.Addresses = append(id.Addresses, ip.String())
		}
	}
	c.identity.known = id
	return id
}

// hostName matches names that a command may contain without quotes.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// LookupHost asks the bastion's name service for the addresses of a host: behind the
// bastion a name may have another meaning than here.
func (c *Client) LookupHost(ctx context.Context, host string) (out []string, err error) {
	if !hostName.MatchString(host) {
		return nil, errors.New("it is not a host name")
	}
	r, err := c.runOnBastion(ctx, marked("getent ahosts "+host))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(output(r)) {
		if ip, err := netip.ParseAddr(strings.Split(line, " ")[0]); err == nil && !slices.Contains(out, ip.String()) {
			out = append(out, ip.String())
		}
	}
	if r.Outcome != succeeded || len(out) == 0 {
		return nil, errors.New("the bastion does not find it")
	}
	return out, nil
}
