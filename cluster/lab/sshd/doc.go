// Package sshd is an SSH server for the lab: the bastion's, which forwards
// into the lab's network (direct-tcpip, what ProxyJump and -L use), and the
// machines', which run a handful of commands. OpenSSH's client and x/crypto's
// both work with it.
//
// Here live the protocol and the few commands of Shell. What a command does to
// a machine is handed in; nothing here knows machines or Kubernetes. There is
// no login shell, no pty and no file transfer.
package sshd
