// Package wol is the power driver for machines that wake on a magic packet
// (AMD, Magic Packet Technology, 1995): six bytes FF, then the machine's MAC
// address sixteen times.
//
// A packet is broadcast by UDP from where lightsout runs, and reaches the
// machines of that network segment only: on a bastion, those behind it. It
// can't be sent through the bastion from elsewhere. There is no answer: this
// driver knows no state, and whether a machine woke must be seen by other means
// (ssh, or the cluster).
//
// To send a packet from another machine, use a command of the driver exec.
package wol

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"lightsout/power"
)

// DriverName is the driver's name in configuration files.
const DriverName = "wol"

func init() {
	power.Register(power.DriverSpec{Name: DriverName, On: true, Section: func() power.Section { return new(Options) }, Node: func() any { return new(Node) }})
}

// defaultBroadcast is where packets go: to all of the segment that the default
// route leads to, and the port that nobody listens at (discard).
const defaultBroadcast = "255.255.255.255:9"

const (
	// packets are sent for each request, for UDP loses some; pause apart.
	packets = 3
	pause   = 100 * time.Millisecond
)

// Options are the section power.wol: where packets go.
type Options struct {
	// Broadcast is an address and port; defaultBroadcast when empty. A host with
	// several networks needs the directed one, like 10.0.0.255:9.
	Broadcast string `json:"broadcast"`
	// Nodes holds the MAC addresses, by node name.
	Nodes map[string]Node `json:"-"`
}

// Node is what an entry below power.nodes may say.
type Node struct {
	MAC string `json:"mac"`
}

// Build makes the driver.
func (o *Options) Build(site power.Site) (power.Driver, error) {
	opt := *o
	opt.Nodes = power.NodesOf[Node](site)
	return New(opt)
}

// Driver sends magic packets. It is safe for use by several goroutines, and
// keeps nothing open.
type Driver struct {
	broadcast netip.AddrPort
	macs      map[string]net.HardwareAddr
}

// New makes the driver. It sends nothing.
func New(opt Options) (*Driver, error) {
	macs := map[string]net.HardwareAddr{}
	for node, n := range opt.Nodes {
		mac, err := parseMAC(n.MAC)
		if err != nil {
			return nil, power.Wrong("power.nodes."+node+".mac", ": %s", err)
		}
		macs[node] = mac
	}
	to, err := netip.ParseAddrPort(cmp.Or(opt.Broadcast, defaultBroadcast))
	if err != nil || to.Port() == 0 {
		return nil, power.Wrong("power.wol.broadcast", " is not an address and port: %q; it looks like 10.0.0.255:9", power.Clean(opt.Broadcast))
	}
	return &Driver{broadcast: to, macs: macs}, nil
}

// parseMAC takes the six bytes of an Ethernet address that one card can have.
func parseMAC(text string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(text)
	switch {
	case err != nil || len(mac) != 6:
		return nil, fmt.Errorf("%q is not a MAC address; it looks like 52:54:00:12:34:56", power.Clean(text))
	case mac[0]&1 != 0 || bytes.Equal(mac, make([]byte, 6)):
		return nil, fmt.Errorf("%s is not the address of one network card", mac)
	}
	return mac, nil
}

// Abilities: it powers on, and knows nothing.
func (d *Driver) Abilities() power.Abilities { return power.Abilities{On: true} }

// Find gives the machine with the node's MAC address: that of the options, or
// else the hint if it is one.
func (d *Driver) Find(_ context.Context, node power.NodeRef, hint string) (power.Machine, error) {
	mac, how := d.macs[node.Name], power.HowConfig
	if mac == nil {
		var err error
		if mac, err = parseMAC(node.Named(hint)); err != nil {
			return power.Machine{}, fmt.Errorf("%w: node %s has no MAC address; give mac under power.nodes.%s", power.ErrNoMachine, node.Name, node.Name)
		}
		how = ""
	}
	return power.Machine{Driver: DriverName, ID: mac.String(), Name: power.Clean(node.Name), Address: cmp.Or(node.Addresses...), How: how}, nil
}

// Ready gives the machine the MAC address of the configuration: it is where a request goes, and
// switches nothing off that it would have to identify. It fails if no packet can be sent.
func (d *Driver) Ready(node string, m power.Machine) (power.Machine, error) {
	if mac := d.macs[node]; mac != nil {
		m.ID = mac.String()
	}
	if _, err := parseMAC(m.ID); err != nil {
		return m, &power.RefusedError{Why: fmt.Sprintf("%s; correct mac under power.nodes.%s", err, power.Clean(node))}
	}
	conn, err := (&net.Dialer{}).Dial("udp", d.broadcast.String()) // which sends nothing
	if err != nil {
		return m, &power.RefusedError{Why: fmt.Sprintf("no magic packet can be sent to %s: %s; correct power.wol.broadcast", d.broadcast, power.Why(err))}
	}
	return m, conn.Close()
}

// State is never asked for: nothing tells it.
func (d *Driver) State(context.Context, power.Machine) (power.Reading, error) {
	return power.Reading{}, power.ErrCannot
}

// Switch powers on: it broadcasts the packet three times. It always returns an error, if
// it sent the packet an *UnconfirmedError: no machine acknowledges a magic packet.
func (d *Driver) Switch(ctx context.Context, _ power.Action, m power.Machine) error {
	mac, err := parseMAC(m.ID)
	if err != nil {
		return &power.RefusedError{Why: err.Error()}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", d.broadcast.String())
	if err != nil {
		return fmt.Errorf("no magic packet can be sent to %s: %w", d.broadcast, err)
	}
	defer conn.Close()
	if err := power.BeforeSend(ctx); err != nil {
		return err
	}
	magic := append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(mac, 16)...)
	for i := range packets {
		if i > 0 && !power.Sleep(ctx, pause) {
			return unconfirmed(mac) // the first is on its way
		}
		// A refusal by a host that listens (ICMP) is no failure: it got there.
		if _, err := conn.Write(magic); err != nil && i == 0 {
			return fmt.Errorf("no magic packet can be sent to %s: %w", d.broadcast, err)
		}
	}
	return unconfirmed(mac)
}

func unconfirmed(mac net.HardwareAddr) error {
	return &power.UnconfirmedError{Why: "no machine acknowledges a magic packet, also not " + mac.String()}
}
