package ssh

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// bastionIdentity is what the bastion says it is, asked once a client.
type bastionIdentity struct {
	mu               sync.Mutex
	asked            bool
	names, addresses []string
	// unknown are the hosts on the way whose addresses could not be learnt.
	unknown []string
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

// BastionAddresses gives the IPs that the bastion is known by: those that its
// name resolves to here, and those that it has by its own word (hostname -I),
// which differ where it stands in two networks. They come without port and
// without loopback addresses. What can't be learned within a few seconds is
// left out.
func (c *Client) BastionAddresses(ctx context.Context) []string {
	c.learnBastion(ctx)
	c.identity.mu.Lock()
	defer c.identity.mu.Unlock()
	return append([]string(nil), c.identity.addresses...)
}

// BastionNames gives the bastion's names: its alias, and its own word for
// itself.
func (c *Client) BastionNames(ctx context.Context) []string {
	c.learnBastion(ctx)
	c.identity.mu.Lock()
	defer c.identity.mu.Unlock()
	return append([]string(nil), c.identity.names...)
}

// UnknownHops names the bastion and the jump hosts before it, those of them whose
// addresses could not be learnt within a few seconds.
func (c *Client) UnknownHops(ctx context.Context) []string {
	c.learnBastion(ctx)
	c.identity.mu.Lock()
	defer c.identity.mu.Unlock()
	return append([]string(nil), c.identity.unknown...)
}

func (c *Client) learnBastion(ctx context.Context) {
	if c.bastion == nil {
		return
	}
	id := &c.identity
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.asked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := c.bastion.host
	names, addresses := []string{h.alias, h.name}, []string{}
	var unknown []string
	for hop := c.bastion; hop != nil; hop = hop.via {
		ips, err := net.DefaultResolver.LookupHost(ctx, hop.host.name)
		addresses = append(addresses, ips...)
		if hop != c.bastion {
			names = append(names, hop.host.alias, hop.host.name)
		}
		if err != nil && hop != c.bastion {
			unknown = append(unknown, hop.host.alias)
		}
	}
	if _, err := c.bastion.get(ctx); err == nil {
		r, err := c.runOnBastion(ctx, "hostname; hostname -I")
		if err == nil && r.Outcome == succeeded {
			lines := strings.Split(r.Stdout, "\n")
			names = append(names, strings.TrimSpace(lines[0]))
			addresses = append(addresses, strings.Fields(strings.Join(lines[1:], " "))...)
		}
		// Asked is asked, even when the bastion gives no shell; but no answer
		// in time is asked for again.
		id.asked = ctx.Err() == nil && (err != nil || r.Outcome != uncertain)
	}
	if !id.asked {
		unknown = append(unknown, h.alias)
	}
	id.names, id.addresses, id.unknown = names, nil, unknown
	for _, a := range addresses {
		if ip, err := netip.ParseAddr(a); err == nil && !ip.IsLoopback() {
			id.addresses = append(id.addresses, ip.String())
		}
	}
}
