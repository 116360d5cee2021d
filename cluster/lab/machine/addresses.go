package machine

import (
	"fmt"
	"sync"
)

// addresses gives out pod addresses of one node: each new pod gets the next
// one, round and round, as the host-local address manager of CNI does.
type addresses struct {
	net string

	mu   sync.Mutex
	last int
	used map[int]bool
}

// Pod addresses end in firstAddress to lastAddress; what is below belongs to
// the network and its bridge.
const (
	firstAddress = 2
	lastAddress  = 254
)

func newAddresses(net string) *addresses {
	return &addresses{net: net, last: firstAddress - 1, used: map[int]bool{}}
}

// take returns a free address; ok is false when there is none.
func (a *addresses) take() (ip string, number int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range lastAddress - firstAddress + 1 {
		a.last++
		if a.last > lastAddress {
			a.last = firstAddress
		}
		if !a.used[a.last] {
			a.used[a.last] = true
			return fmt.Sprintf("%s.%d", a.net, a.last), a.last, true
		}
	}
	return "", 0, false
}

// give takes an address back.
func (a *addresses) give(number int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, number)
}

// reset takes all of them back; the next one given is still a new one.
func (a *addresses) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.used)
}
