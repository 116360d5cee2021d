// Package ssh reaches machines by SSH. Client keeps one connection to the
// bastion (and to each host on the way to it), dials it again when it is lost,
// and carries every other connection: those to the API server, to services
// and to the nodes themselves. Driver is the power driver that asks a node to
// shut itself down.
//
// The installed OpenSSH reports the settings of hosts (ssh -G); keys and certificates from the agent and from
// files. The client always verifies host keys and host certificates against
// known_hosts: nobody can switch that off. The caller's hook asks for passphrases and
// passwords; the client keeps opened keys for the run, and no passwords at all. It
// connects without another program, and refuses a ProxyCommand.
//
// This package only implements SSH. It does not map machines to Kubernetes nodes, and
// has no other way of switching machines.
package ssh
