// Package exec is the power driver for machines that nothing else switches:
// by the operator's own commands.
//
// A command is a list of arguments, run as it stands: no shell looks at it, and
// what is filled in ({{.Node}}, {{.Address}}, {{.Machine}}) stays within its
// argument. Who wants a shell writes ["sh", "-c", "…"], and best takes the node
// from the environment there: LIGHTSOUT_NODE, LIGHTSOUT_ADDRESS and
// LIGHTSOUT_MACHINE are set. Secrets reach a command by the environment too.
//
// Here may live what holds for any command. What may not: a command that is
// known beforehand, which deserves a driver of its own.
package exec
