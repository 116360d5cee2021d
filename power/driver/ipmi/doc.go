// Package ipmi is the power driver for servers whose management controller
// (BMC) speaks IPMI 2.0 over the network (RMCP+, what ipmitool calls lanplus).
//
// The protocol itself is github.com/bougou/go-ipmi: unlike a command, it keeps
// the password out of every process list. Only cipher suites 17 and 3 are used;
// suite 0 lets anybody in, and 1 and 2 do not encrypt. IPMI's login gives a
// keyed sum of the password to whoever asks for it, so that its network should
// be one that strangers don't reach. It is UDP, which ssh does not forward:
// lightsout must run where the controllers can be reached.
//
// Here may live what concerns chassis power by IPMI. What may not: anything
// else that IPMI manages.
package ipmi
