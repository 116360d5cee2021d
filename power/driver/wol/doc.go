// Package wol is the power driver for machines that wake on a magic packet
// (AMD, Magic Packet Technology, 1995): six bytes FF, then the machine's MAC
// address sixteen times, then a password if its network card wants one.
//
// A packet is broadcast by UDP from where lightsout runs, and reaches the
// machines of that network segment only: on a bastion, those behind it. It
// can't be sent through the bastion from elsewhere. There is no answer: this
// driver knows no state, and whether a machine woke must be seen by other means
// (ssh, or the cluster).
//
// Here may live what concerns magic packets. What may not: sending one by
// another machine, which is a command for the driver exec.
package wol
