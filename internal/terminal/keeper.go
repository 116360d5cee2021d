package terminal

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// restoreSequence leaves the alternate screen, shows the cursor, and takes back
// the modes that the screen switches on: colours, paste, focus and mouse
// reports, keyboard enhancements (ctlseqs of xterm; kitty keyboard protocol).
const restoreSequence = "\x1b[?2026l\x1b[?1049l\x1b[<u\x1b[>4;0m\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[0m\x1b[?25h\r\n"

// takeSequence is what the screen switches on but for the mouse: the alternate
// screen without a cursor, paste reports, keyboard enhancements (once, should they
// be on).
const takeSequence = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>4;2m\x1b[<u\x1b[>1u"

// keeping is the keeper's script: the shell and stty are where a terminal is, and hold
// a tenth of the memory of another process of this program. It outlives what ends the
// program, waits until its leash (descriptor 3) ends, and restores the terminal on its
// standard input, unless the program has released it with a line. Its arguments are the
// characters and the message to write.
const keeping = `trap '' INT TERM HUP QUIT TTOU
state=$(stty -g) || exit
echo
read -r released <&3 && exit
printf %s "$1" >&0
stty "$state"
printf %s "$2" >&0`

// keeper is a child process that puts the terminal right when this one dies
// without doing so itself: a panic in any goroutine, or kill -9.
type keeper struct{ leash *os.File }

// startKeeper starts a keeper for the terminal tty. log is the file that will have the
// reason of a crash; restore is the command that powers machines on. Either may be
// empty.
func startKeeper(tty *os.File, log, restore string) (*keeper, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", keeping, "lightsout-keeper", restoreSequence, lastWords(log, restore))
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
		return nil, fmt.Errorf("the terminal can't be kept: sh and stty say nothing: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return &keeper{w}, nil
}

// release tells the keeper that the terminal is as it was.
func (k *keeper) release() {
	_, _ = k.leash.WriteString("\n")
	_ = k.leash.Close()
}

// lastWords is what the keeper says about a program that died.
func lastWords(log, restore string) string {
	text := "lightsout ended unexpectedly.\r\n"
	if restore != "" {
		text += "If machines are off: " + restore + "\r\n"
	}
	if log != "" {
		text += "Its last messages are in " + log + "\r\n"
	}
	return text
}
