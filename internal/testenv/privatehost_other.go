//go:build !linux

package testenv

// PrivateHost does nothing: only Linux has mount namespaces.
func PrivateHost(...string) {}
