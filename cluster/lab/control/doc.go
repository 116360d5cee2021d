// Package control is the lab's own remote control: HTTP on a unix socket, for
// tests and for an operator's hand. It pulls plugs, stops and kills control
// plane processes, injects faults, and tells what the lab itself knows: the
// state of its machines and where requests are.
//
// It decides nothing: each request is handed to who does the thing. None of
// it is a way that a tool under test should use.
package control
