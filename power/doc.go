// Package power switches the machines behind Kubernetes nodes and tells their
// state: what a driver must do (Driver), which machine stands for which node
// and how several are switched side by side (Fleet), what must not be switched
// (Guard), what was switched (Journal), and the one procedure by which it is
// (Switcher, in procedure.go: begin there).
//
// One mechanism is one folder. power/ssh asks the guest to shut itself down and
// carries every connection through the bastion. Below power/driver, mdx and
// openstack speak to a platform's API, redfish and ipmi to a server's management
// controller; fence runs a ClusterLabs fence agent, vagrant the vagrant command,
// exec the operator's own; wol sends magic packets. What a driver promises is
// tested by power/internal/powertest; what several of them stand on is beside it.
//
// Here may live what holds for every mechanism. What may not: anything that
// knows the Kubernetes API (a node comes in as a NodeRef), the screen, or one
// vendor's interface. This package imports neither cluster nor loadgen.
//
// Two rules stand behind all of it. An accepted call is not success: the
// wanted state must be seen. And a request to switch off is never sent twice:
// who does not know whether it arrived goes and looks.
package power
