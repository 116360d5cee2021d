package cluster

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// endWithParent has the kernel end this process when the one that started it ends: client-go
// leaves a plugin running that hangs. The kernel keeps this for one thread, which therefore
// must be the one that runs the plugin.
func endWithParent() error {
	runtime.LockOSThread()
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
}
