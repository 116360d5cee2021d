// Package config reads lightsout.yaml and the flags that override its fields. It reads
// strictly: each error names its line and field. It reads secrets only when a program
// needs them.
package config
