package cluster

import "golang.org/x/sys/unix"

const getTermios = unix.TIOCGETA

// endWithParent does nothing: this kernel has no such service.
func endWithParent() error { return nil }
