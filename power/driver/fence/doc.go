// Package fence is the power driver for everything that a ClusterLabs fence
// agent switches: BMCs by IPMI or Redfish, hypervisors, clouds, power strips.
//
// An agent is a program that is given its arguments as lines of name=value on
// standard input and answers by its exit status (FenceAgentAPI.md of
// ClusterLabs/fence-agents). On and off are carried out and verified by the
// agent itself: 0 means that it was seen, 1 that it failed or could not be
// verified, which is not the same as not done. A status is 0 for on, 2 for off,
// and 1 when it can't be told.
//
// Agents pull the plug: none of them asks the guest to shut down.
//
// Secrets reach an agent on standard input, where nobody sees them. What an
// agent does with them is its own: fence_ipmilan, for one, hands the password to
// ipmitool as an argument, which everybody on the machine can read. The drivers ipmi
// and redfish do not.
//
// Here may live what holds for every agent. What may not: what one agent alone
// needs; that is configuration.
package fence
