// Package power switches the machines behind Kubernetes nodes and reports their state.
// It has the interface of a driver (Driver), the mapping of nodes to machines and the
// parallel operations on them (Fleet), the rules against switching (guard.go), the record
// of switched machines (Journal), and the one procedure that switches (Switcher, in
// procedure.go: begin there).
//
// One mechanism is one folder. power/ssh asks the guest to shut itself down and
// carries every connection through the bastion. Below power/driver, mdx and
// openstack speak to a platform's API, redfish and ipmi to a server's management
// controller; fence runs a ClusterLabs fence agent, vagrant the vagrant command,
// exec the operator's own; wol sends magic packets. What a driver promises is
// tested by power/powertest; what several of them stand on is beside it.
//
// Here may live what holds for every mechanism. What may not: anything that
// knows the Kubernetes API (a node comes in as a NodeRef), the screen, or one
// vendor's interface. This package imports neither cluster nor loadgen.
//
// Two rules apply everywhere. An accepted call is not success: the wanted power state must be
// seen. And lightsout never sends a request to switch off twice: if it cannot tell
// whether the request arrived, it polls.
package power
