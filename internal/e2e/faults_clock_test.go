//go:build linux

package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/testenv"
)

// wallClock is the clock of the day as one process reads it, which can be set
// without that of the machine. The kernel gives the time through a function in
// each process's memory (the vDSO): that one is written anew, with so many
// seconds more. What the monotonic clock says is left as it is.
type wallClock struct {
	t      *testing.T
	memory *os.File
	offset int64 // where the seconds stand
}

// ownClock gives a process a clock of its own.
func ownClock(t *testing.T, pid int) *wallClock {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		testenv.Skip(t, "a process's clock is set on amd64 only")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	first, end := vdso(t, pid)
	image := make([]byte, end-first)
	if _, err := memory.ReadAt(image, first); err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
		0x75, 0x07, // jnz to the end
		0x48, 0x81, 0x06, 0, 0, 0, 0, // add qword [rsi], seconds
		0xc3, // ret
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" || s.Size < uint64(len(code)) {
			continue
		}
		at := first + int64(s.Value)
		outside(t, pid, first, end, func() {
			if _, err := memory.WriteAt(code, at); err != nil {
				t.Fatal(err)
			}
		})
		return &wallClock{t, memory, at + 14}
	}
	t.Fatal("the vDSO has no clock_gettime")
	return nil
}

// set makes the clock so much ahead of the machine's.
func (c *wallClock) set(ahead time.Duration) {
	c.t.Helper()
	seconds := binary.LittleEndian.AppendUint32(nil, uint32(int32(ahead/time.Second)))
	if _, err := c.memory.WriteAt(seconds, c.offset); err != nil {
		c.t.Fatal(err)
	}
}

// vdso is where a process has it.
func vdso(t *testing.T, pid int) (first, end int64) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &first, &end); err != nil {
				t.Fatal(err)
			}
			return first, end
		}
	}
	t.Fatal("the process has no vDSO")
	return 0, 0
}

// outside does something while the process is stopped and no thread of it is
// between two addresses.
func outside(t *testing.T, pid int, first, end int64, do func()) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		free := stoppedOutside(t, pid, first, end)
		if free {
			do()
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if free {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("a thread is always there")
}

func stoppedOutside(t *testing.T, pid int, first, end int64) bool {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		// The call that the thread waits in, and at the end where it stands.
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", pid, task.Name()))
		words := strings.Fields(string(b))
		if err != nil || len(words) < 2 { // it runs
			return false
		}
		var at int64
		if _, err := fmt.Sscanf(words[len(words)-1], "0x%x", &at); err != nil {
			t.Fatal(err)
		}
		if at >= first && at < end {
			return false
		}
	}
	return true
}

// serversClockOff sets the clock of the lab's API server: it is said as soon as the
// server answers anything, and gone with it.
func serversClockOff(t *testing.T, l *labtest.Lab, s *scene) {
	t.Helper()
	c := ownClock(t, l.Component("kube-apiserver"))
	for n, off := range []struct {
		by   time.Duration
		says string
	}{{5 * time.Minute, `CLOCKS .*the API server's is (5m0?\d|4m5\d)s ahead of`}, {-5 * time.Minute, `CLOCKS .*the API server's is (5m0?\d|4m5\d)s behind`}, {0, isLive}} {
		c.set(off.by)
		s.door.lead(s.bastion) // at rest nothing is asked
		s.scale(n + 2)
		s.sees("the clocks", isLive, off.says, s.probe(n+2))
	}
	s.gone("that clocks differ", `CLOCKS`)
}

// ownClockSet sets the clock of the program's machine, as the program reads it.
func ownClockSet(s *scene) {
	c := ownClock(s.t, s.cmd.Process.Pid)
	for n, by := range []time.Duration{time.Hour, -time.Hour, 0} {
		c.set(by)
		s.scale(n + 2)
		if by == 0 {
			s.sees("the change", isLive, s.probe(n+2))
			s.gone("that clocks differ", `CLOCKS`)
			continue
		}
		than := map[bool]string{true: "behind", false: "ahead of"}[by > 0]
		s.sees("the clocks", isLive, `CLOCKS .*the API server's is (1h|60m|59m)\S* `+than, s.probe(n+2))
		s.front.cut() // what is told by the difference has times as well
		s.scale(n + 5)
		s.sees("the change after a reconnect", isLive, s.probe(n+5))
	}
}
