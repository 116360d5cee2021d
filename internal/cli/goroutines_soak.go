//go:build soak

package cli

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// A program that is built with the tag soak writes each second how many
// goroutines it has, and the bytes on its heap, into the file that the
// environment names.
func init() {
	path := os.Getenv("LIGHTSOUT_GOROUTINES")
	if path == "" {
		return
	}
	go func() {
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			_ = os.WriteFile(path, fmt.Appendf(nil, "%d %d", runtime.NumGoroutine(), m.HeapAlloc), 0o600)
			time.Sleep(time.Second)
		}
	}()
}
