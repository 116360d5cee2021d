// Package ssh reaches machines by SSH. Client keeps one connection to the
// bastion (and to each host on the way to it), dials it again when it is lost,
// and carries every other connection: those to the API server, to services
// and to the nodes themselves. Driver is the power driver that asks a node to
// shut itself down.
//
// Hosts are looked up in the user's ssh_config; keys and certificates come from
// the agent and from files. Host keys and host certificates are always verified
// against known_hosts: there is no way to switch that off. Passphrases and
// passwords are asked for by the caller's hook; opened keys are kept for the
// run, passwords are not kept at all. No other program is run: a ProxyCommand
// is refused.
//
// Here may live what concerns SSH. What may not: what a machine is in
// Kubernetes, and any other way of switching machines.
package ssh
