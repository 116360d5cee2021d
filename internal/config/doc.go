// Package config makes values of the file lightsout.yaml and of the flags that
// stand for its fields. It reads strictly: whatever is wrong is told with its
// line and field. It connects to nothing, and secrets are read only when they
// are needed.
package config
