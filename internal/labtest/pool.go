package labtest

import (
	"sync"
	"testing"
)

// rooms bounds how many labs run side by side, so that none is late on two cores: a lab waits
// for its clocks most of the time, and takes a core for some seconds when it starts.
var rooms = make(chan struct{}, 4)

// starting lets one lab start at a time: more would make those that run late.
var starting sync.Mutex

// Start gives the test a lab of its own at the fast pace, and ends it with the test.
func Start(t testing.TB, scenario string) *Lab {
	t.Helper()
	Room(t)
	starting.Lock()
	defer starting.Unlock()
	l := &Lab{t: t}
	l.api = sync.OnceValue(l.newAPI)
	Launch(t, &l.info, "--scenario", scenario, "--pace", "fast")
	return l
}

// Room waits until there is room for one more lab, which a program that the test runs
// starts. The room is free again after the test.
func Room(t testing.TB) {
	t.Helper()
	rooms <- struct{}{}
	t.Cleanup(func() { <-rooms })
}
