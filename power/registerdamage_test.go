package power

import (
	"os"
	"path/filepath"
	"testing"
)

// The end of the last readable note of a register leaves its damaged lines: one may name a machine
// that is off.
func TestADamagedLineOfTheRegisterStays(t *testing.T) {
	locks := OpenLocks(filepath.Join(t.TempDir(), "locks"))
	r := register{locks, Cluster{Name: "c"}}
	set := func(n Note) {
		t.Helper()
		if err := r.Change(t.Context(), "n1", func(Note) (Note, bool) { return n, true }); err != nil {
			t.Fatal(err)
		}
	}
	set(Note{By: "a", ID: "1"})
	path, _ := locks.RegisterDamage()
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte("\n{\"node\":\"n2\",\"by\":\x00\"tanaka\"}\n"), lines...)
	if err := os.WriteFile(path, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, n := range []Note{{}, {By: "b", ID: "2"}, {}} {
		set(n)
		if _, n := locks.RegisterDamage(); n != 1 {
			t.Fatalf("the register has %d damaged lines", n)
		}
	}
}
