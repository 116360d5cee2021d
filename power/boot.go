package power

import "time"

// Boot is what is known of whether a node has booted since its machine was asked to go off.
type Boot int

// Answers about a boot. BootUnknown: the node has been down and is Ready again with the
// boot ID of before, or a boot ID is missing.
const (
	BootOld Boot = iota
	BootUnknown
	BootNew
)

// BootSince is the rule by which a boot is known. Another boot ID proves one. The same one
// proves nothing: containers have the boot ID of their host. Then a machine that was proven
// off (zero: it was not) has booted if its node became Ready after that; one that only
// became Ready after it was asked to go off may have lost its network instead. All times
// are of this host.
func BootSince(was, now string, ready, asked, provenOff time.Time) Boot {
	switch {
	case OtherBoot(was, now):
		return BootNew
	case was == "" || now == "":
		return BootUnknown
	case !provenOff.IsZero() && ready.After(provenOff):
		return BootNew
	case ready.After(asked):
		return BootUnknown
	}
	return BootOld
}

// OtherBoot reports whether two boot IDs are known, and not the same.
func OtherBoot(a, b string) bool { return a != "" && b != "" && a != b }
