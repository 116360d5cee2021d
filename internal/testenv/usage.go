package testenv

import (
	"syscall"
	"testing"
	"time"
)

// Measure reports, when a benchmark calls the returned function at its end, the CPU time
// of the process for each operation, which a busy machine changes little, and the largest
// resident memory that the process has had.
func Measure(b *testing.B) func() {
	before, _ := usage()
	return func() {
		cpu, peak := usage()
		b.ReportMetric((cpu-before).Seconds()/float64(b.N), "cpu-s/op")
		b.ReportMetric(float64(peak>>20), "MB-peak")
	}
}

func usage() (cpu time.Duration, peak int64) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for a wrong argument alone
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), int64(u.Maxrss) << 10
}
