// Package network is the lab's own IP network, inside one process.
//
// Hosts have addresses, listen and dial, and speak TCP-like streams to each
// other: buffered, with deadlines, half-close and the errors that package net
// gives. What it adds over loopback sockets is the failure that matters here:
// a host that loses its power goes silent. Nothing is closed, nothing is
// reset, what was sent to it is swallowed, and a dial to it hangs until the
// dialler gives up (see Host.Cut). A host can also leave the network and run on
// (see Host.Detach).
//
// Here lives the transport and nothing else: who listens, on which port and
// with which protocol is decided by the packages that use it. Nothing here
// opens a socket of the machine it runs on.
package network
