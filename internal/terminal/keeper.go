package terminal

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// KeeperArg, as the first argument, starts this program as the keeper of a terminal.
const KeeperArg = "__keep-terminal"

// restoreSequence leaves the alternate screen, shows the cursor, and takes back
// the modes that the screen switches on: colours, paste, focus and mouse
// reports, keyboard enhancements (ctlseqs of xterm; kitty keyboard protocol).
const restoreSequence = "\x1b[?2026l\x1b[?1049l\x1b[<u\x1b[>4;0m\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[0m\x1b[?25h\r\n"

// takeSequence is what the screen switches on but for the mouse: the alternate
// screen without a cursor, paste reports, keyboard enhancements (once, should they
// be on).
const takeSequence = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>4;2m\x1b[<u\x1b[>1u"

// keeper is a child process that puts the terminal right when this one dies
// without doing so itself: a panic in any goroutine, or kill -9.
type keeper struct{ leash *os.File }

// startKeeper starts a keeper for the terminal tty. log is the file that will have the
// reason of a crash; restore is the command that powers machines on. Either may be
// empty.
func startKeeper(tty *os.File, log, restore string) (*keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command(self, KeeperArg, log, restore)
	cmd.Stdin, cmd.ExtraFiles = tty, []*os.File{r}
	ready, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	// The screen must not be begun before the keeper has seen how the terminal was.
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		w.Close()
		_ = cmd.Wait()
		return nil, fmt.Errorf("the terminal can't be kept: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return &keeper{w}, nil
}

// release tells the keeper that the terminal is as it was.
func (k *keeper) release() {
	_, _ = k.leash.Write([]byte{1})
	_ = k.leash.Close()
}

// Keep is the keeper's main function: it waits until its leash ends. Then it restores
// the terminal on standard input, unless the program has released it.
func Keep(args []string) int {
	// It must outlive what ends the program, and may write from the background.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTTOU)
	tty := os.Stdin
	state, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return 1
	}
	_, _ = os.Stdout.Write([]byte{1})
	leash := os.NewFile(3, "leash")
	if n, _ := io.ReadFull(leash, make([]byte, 1)); n == 1 {
		return 0
	}
	_, _ = unix.Write(int(tty.Fd()), []byte(restoreSequence))
	_ = term.Restore(int(tty.Fd()), state)
	text := "lightsout ended unexpectedly.\r\n"
	if len(args) > 1 && args[1] != "" {
		text += "If machines are off: " + args[1] + "\r\n"
	}
	if len(args) > 0 && args[0] != "" {
		text += "Its last messages are in " + args[0] + "\r\n"
	}
	_, _ = fmt.Fprint(os.NewFile(tty.Fd(), "tty"), text)
	return 0
}
