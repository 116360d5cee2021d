// Package process runs containers as child processes of the lab: ordinary programs that
// listen and dial, and that have to join the lab's network.
//
// A child reaches the network through a SOCKS5 server of its own, which dials from the
// pod's machine. On file descriptor 3 the child tells the lab the real address of each
// of the pod's ports, and the lab forwards connections from the pod's address to it.
// When the machine loses its power, the lab kills the child, and its connections vanish
// without a packet.
package process
