package power

import (
	"net/netip"
	"strings"
)

func contains(names []string, name string) bool {
	for _, n := range names {
		if n != "" && strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// meets reports whether two lists share an IP, however it is written.
func meets(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if SameIP(x, y) {
				return true
			}
		}
	}
	return false
}

// SameIP reports whether two strings are the same IP address, compared whole:
// 10.0.0.1 is not 10.0.0.10, and an IPv4 address written as IPv6 is the same
// one. What is no IP equals nothing.
func SameIP(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap().WithZone("") == y.Unmap().WithZone("")
}

// Verb gives the words for an action: "shut down", "switch off", "power on".
func Verb(a Action) string {
	switch a {
	case ActionShutdown:
		return "shut down"
	case ActionOff:
		return "switch off"
	case ActionOn:
		return "power on"
	}
	return string(a)
}
