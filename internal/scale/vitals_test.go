package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vitals is what a process has used and holds.
type vitals struct {
	cpu            time.Duration
	resident, peak int64 // bytes
	read           int64 // bytes, most of them from the API server
}

// clockTick is the unit of /proc/PID/stat (USER_HZ), the same on every Linux.
const clockTick = 10 * time.Millisecond

func vitalsOf(b *testing.B, pid int) (v vitals) {
	b.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			b.Fatal(err)
		}
		return string(text)
	}
	_, rest, _ := strings.Cut(read("stat"), ") ") // after the name
	fields := strings.Fields(rest)
	for _, i := range []int{11, 12} { // utime, stime
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		v.cpu += time.Duration(n) * clockTick
	}
	status := read("status")
	v.resident, v.peak = 1024*named(status, "VmRSS:"), 1024*named(status, "VmHWM:")
	v.read = named(read("io"), "rchar:")
	return v
}

// startedBy returns the resident memory of a process's children.
func startedBy(pid int) (resident int64) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range names {
		text, _ := os.ReadFile(name) // it may have ended
		for child := range strings.FieldsSeq(string(text)) {
			status, _ := os.ReadFile("/proc/" + child + "/status")
			resident += 1024 * named(string(status), "VmRSS:")
		}
	}
	return resident
}

// named gives the number after a name at the beginning of a line.
func named(text, name string) int64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n
		}
	}
	return 0
}
