// Package leak has what goleak overlooks in tests. It is for tests alone.
package leak

import "go.uber.org/goleak"

// SSH lets goleak overlook a goroutine that x/crypto/ssh v0.58.0 forgets: one that
// opens a channel in the moment in which the connection ends waits for ever
// (mux.go: newChannel after loop's dropAll; handshake.go: writePacket returns nil after a
// failed write). lightsout cannot reach it. A connection that lightsout itself forgets has
// other goroutines, which goleak finds.
func SSH() goleak.Option {
	return goleak.IgnoreAnyFunction("golang.org/x/crypto/ssh.(*mux).openChannel")
}
