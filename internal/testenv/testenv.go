// Package testenv checks the conditions that a test needs. It is for tests alone, of every
// package.
package testenv

import (
	"flag"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// Skip skips a test whose ground is missing (a program, a device, a right), or
// fails it where nothing may be skipped: LIGHTSOUT_REQUIRE_ALL, as in CI.
func Skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("LIGHTSOUT_REQUIRE_ALL") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Long skips a test that takes long, about so many seconds, with -short.
func Long(t testing.TB, seconds int) {
	t.Helper()
	if testing.Short() {
		t.Skipf("takes about %d s: left out by -short", seconds)
	}
}

// Script writes a program that can be run at once: while it is open for writing
// no other test starts a process, which would keep it open and so busy (ETXTBSY).
func Script(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}

// SideBySide lets n of a package's parallel tests run at once, whatever the
// number of cores, unless -parallel says otherwise: for tests that mostly wait.
// TestMain calls it.
func SideBySide(n int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		_ = flag.Set("test.parallel", strconv.Itoa(n))
	}
}
