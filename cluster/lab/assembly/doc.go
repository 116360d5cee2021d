// Package assembly puts a lab together: the control plane, the network, the
// scenario's machines, their ssh servers and the bastion's, the power API and
// the control socket; and writes what a client needs to use it, down to a
// complete lightsout.yaml.
//
// A client meets the topology of mdx. The bastion's ssh server is the one
// address outside (on loopback); what lies behind is reached through its
// forwarding:
//
//	https://10.0.0.10:6443   the API server
//	10.0.0.N:22              the machines' ssh servers
//	10.0.0.N:<NodePort>      services
//	http://10.0.0.2          the power API
//	10.244.x.y               pods, from the API server (pods/proxy) only
//
// A lab lives in one folder and leaves nothing behind: not when it is closed,
// and not when its process is killed, for the kernel ends the children, and
// the next lab removes the folder. Any number of labs run side by side.
//
// Only wiring lives here; what the parts do is in their packages.
package assembly
