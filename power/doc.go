// Package power switches the machines behind Kubernetes nodes and tells their
// state: what a driver must do (Driver), which machine stands for which node
// and how several are switched side by side (Fleet), what must not be switched
// (Guard) and what was switched (Journal).
//
// One mechanism is one folder: power/ssh asks the guest to shut itself down
// and carries every connection through the bastion, power/mdx speaks the REST
// API of the mdx platform.
//
// Here may live what holds for every mechanism. What may not: anything that
// knows the Kubernetes API (a node comes in as a NodeRef), the screen, or one
// vendor's interface. This package imports neither cluster nor loadgen.
//
// Two rules stand behind all of it. An accepted call is not success: the
// wanted state must be seen. And a request to switch off is never sent twice:
// who does not know whether it arrived goes and looks.
package power
