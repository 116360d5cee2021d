package power

import (
	"net/netip"
	"slices"

	"lightsout/internal/text"
)

// docker0 is the address that Docker gives each host on its own bridge.
var docker0 = netip.MustParseAddr("172.17.0.1")

// parsed returns an IP in the one form that is compared; false if it is not an IP, or one
// that proves nothing about a machine, because every machine has it: loopback, link-local,
// docker0.
func parsed(address string) (ip netip.Addr, proves bool) {
	ip, err := netip.ParseAddr(address)
	ip = ip.Unmap().WithZone("")
	return ip, err == nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified() && ip != docker0
}

// proving returns the addresses that prove something about a machine.
func proving(addresses []string) []string {
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		ip, proves := parsed(a)
		return ip.IsValid() && !proves
	})
}

// common returns the first address of a that b has too, however it is written; empty if
// there is none that proves something.
func common(a, b []string) string {
	for _, x := range a {
		_, proves := parsed(x)
		if proves && slices.ContainsFunc(b, func(y string) bool { return SameIP(x, y) }) {
			return x
		}
	}
	return ""
}

// SameIP reports whether two strings are the same IP address, compared whole:
// 10.0.0.1 is not 10.0.0.10, and an IPv4 address written as IPv6 is the same
// one. A string that is not an IP equals nothing.
func SameIP(a, b string) bool {
	x, _ := parsed(a)
	y, _ := parsed(b)
	return x.IsValid() && x == y
}

// own returns the addresses by which a node may be this host, the bastion or the API
// server: its first address, and all others of node and machine that no other node has. A
// router's address, or a host's that forwards ports, is of none of the nodes behind it.
func (g *guard) own(name string) (out []string) {
	all := func(n Node) []string {
		return slices.Concat(n.Addresses, text.Each(g.Bound[n.Name].Binding.machines(), func(m *Machine) string { return m.Address }))
	}
	for i, a := range all(g.byName[name]) {
		others := slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Name != name && common([]string{a}, all(n)) != "" })
		if !others || i == 0 && len(g.byName[name].Addresses) > 0 {
			out = append(out, a)
		}
	}
	return out
}
