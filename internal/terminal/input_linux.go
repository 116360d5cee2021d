package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropInput drops the keys that were typed and not read yet (tcflush(3), TCIFLUSH). It does nothing
// if f is not a terminal.
func DropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
