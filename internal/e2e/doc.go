// Package e2e holds the tests that run the program: bin/lightsout as a process,
// with or without a terminal, most of them on the lab (bin/lightsout-lab). They
// know the program from outside: what it prints and shows, how it exits, the
// files that it writes, read by package record or by types of their own.
package e2e
