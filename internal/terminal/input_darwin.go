package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropInput drops the keys that were typed and not read yet (tcflush(3), TCIFLUSH). It does nothing
// if f is not a terminal.
func DropInput(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, 1) } // 1 is FREAD
