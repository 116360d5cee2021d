package cli

import (
	"slices"
	"time"

	"lightsout/cluster"
	"lightsout/internal/view"
	"lightsout/power"
)

// statusRow is a node and its machine, in a row of the table or in JSON. What is unknown is not there, except a state, which is "unknown" then.
type statusRow struct {
	Node   string `json:"node"`
	Status string `json:"status"` // as kubectl prints it
	State  string `json:"state"`
	Proof  string `json:"proof"`
	Detail string `json:"detail,omitempty"`
	// At is when the answer about the state arrived.
	At time.Time `json:"at,omitzero"`
	// Off and On are the machine by the driver that switches it off, and on.
	Off wayRow `json:"off"`
	On  wayRow `json:"on"`
	// LeftOff is since when lightsout's journal lists the machine as off.
	LeftOff time.Time `json:"left_off,omitzero"`
	machine string    // Off and On, as the table has them
}

// wayRow is a machine by a driver, or why there is none.
type wayRow struct {
	Driver  string `json:"driver,omitempty"`
	Machine string `json:"machine,omitempty"`
	Name    string `json:"name,omitempty"`
	Error   string `json:"error,omitempty"`
}

func wayOf(m *power.Machine, err error, missing string) wayRow {
	switch {
	case m != nil:
		return wayRow{Driver: m.Driver, Machine: m.ID, Name: m.Name}
	case err != nil:
		return wayRow{Error: err.Error()}
	}
	return wayRow{Error: missing}
}

// rows are the nodes that were read, and those of left that the cluster does not have any more: all when none is named.
func (read machinesRead) rows(s *cluster.Snapshot, left []power.LeftOff, nodes []string) []statusRow {
	rows := []statusRow{}
	for i, ref := range read.nodes {
		var b power.Binding
		machine, r := read.missing, read.readings[ref.Name]
		if read.bindings != nil {
			b = read.bindings[i]
			machine = view.MachineText(b)
		}
		if (b.Off != nil || b.On != nil) && r.State != power.On && r.State != power.Off && r.Detail != "" {
			machine += " · " + r.State.String() + ": " + power.Clean(r.Detail) // the driver's own word
		}
		rows = append(rows, statusRow{Node: ref.Name, Status: s.NodeWord(s.Node(ref.Name), time.Now()), State: r.State.String(), Proof: r.Proof.String(),
			Detail: r.Detail, At: r.Arrived, Off: wayOf(b.Off, b.OffErr, read.missing), On: wayOf(b.On, b.OnErr, read.missing), machine: machine})
	}
	for _, l := range left {
		i := slices.IndexFunc(rows, func(r statusRow) bool { return r.Node == l.Node })
		switch {
		case i >= 0:
			rows[i].LeftOff = l.At
		case s.Node(l.Node) == nil && (len(nodes) == 0 || slices.Contains(nodes, l.Node)):
			rows = append(rows, statusRow{Node: l.Node, Status: "gone", State: power.Unknown.String(), Proof: power.ProofNone.String(),
				Off: wayOf(l.Binding.Off, l.Binding.OffErr, ""), On: wayOf(l.Binding.On, l.Binding.OnErr, ""), LeftOff: l.At, machine: view.MachineText(l.Binding)})
		}
	}
	return rows
}
