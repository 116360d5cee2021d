package terminal

import "golang.org/x/sys/unix"

// dup makes the descriptor to name what from does.
func dup(from, to int) error { return unix.Dup2(from, to) }
