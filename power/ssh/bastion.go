package ssh

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"
)

// BastionIdentity is what tells the bastion, and the jump hosts before it, from
// other machines.
type BastionIdentity struct {
	// Names are their aliases, and the bastion's own word for itself.
	Names []string
	// Addresses are the IPs that their names resolve to here, and those that the
	// bastion has by its own word (hostname -I), which differ where it stands in
	// two networks: without port, and without loopback addresses.
	Addresses []string
	// Unknown names the hosts whose addresses could not be learnt.
	Unknown []string
}

// Reach connects to the bastion, if that is not done already. The error says in
// one sentence why it can't be. Without a bastion there is nothing to reach.
func (c *Client) Reach(ctx context.Context) error {
	if c.bastion == nil {
		return nil
	}
	_, err := c.bastion.get(ctx)
	return err
}

// BastionIdentity is what can be learnt of the bastion within a few seconds. It
// is asked once a client, and again when there was no answer in time.
func (c *Client) BastionIdentity(ctx context.Context) BastionIdentity {
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
	var id BastionIdentity
	var addresses []string
	for hop := c.bastion; hop != nil; hop = hop.via {
		ips, err := net.DefaultResolver.LookupHost(ctx, hop.host.name)
		addresses = append(addresses, ips...)
		id.Names = append(id.Names, hop.host.alias, hop.host.name)
		if err != nil && hop != c.bastion {
			id.Unknown = append(id.Unknown, hop.host.alias)
		}
	}
	if _, err := c.bastion.get(ctx); err == nil {
		r, err := c.runOnBastion(ctx, "hostname; hostname -I")
		if err == nil && r.Outcome == succeeded {
			lines := strings.Split(r.Stdout, "\n")
			id.Names = append(id.Names, strings.TrimSpace(lines[0]))
			addresses = append(addresses, strings.Fields(strings.Join(lines[1:], " "))...)
		}
		// Asked is asked, even when the bastion gives no shell; but no answer
		// in time is asked for again.
		c.identity.asked = ctx.Err() == nil && (err != nil || r.Outcome != uncertain)
	}
	if !c.identity.asked {
		id.Unknown = append(id.Unknown, c.bastion.host.alias)
	}
	for _, a := range addresses {
		if ip, err := netip.ParseAddr(a); err == nil && !ip.IsLoopback() {
			id.Addresses = append(id.Addresses, ip.String())
		}
	}
	c.identity.known = id
	return id
}
