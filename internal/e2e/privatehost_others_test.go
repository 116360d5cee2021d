//go:build !linux

package e2e

// privateHost does nothing: only Linux has mount namespaces.
func privateHost(...string) {}
