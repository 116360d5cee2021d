//go:build !linux

package loadgen

import (
	"net"
	"time"
)

// setUserTimeout does nothing: there is no TCP_USER_TIMEOUT here.
func setUserTimeout(net.Conn, time.Duration) {}
