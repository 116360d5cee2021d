// Package examples holds small real records of the built-in plans, so that a newcomer
// can watch a replay without a cluster or a lab. Each is a folder here, named after its
// plan. The records come from the lab, and contain nothing about real machines.
package examples

import (
	"embed"
	"io/fs"
	"slices"
)

//go:embed *
var files embed.FS

// Open gives the folder of the record of that name, and whether there is one.
func Open(name string) (fs.FS, bool) {
	dir, err := fs.Sub(files, name)
	return dir, err == nil && slices.Contains(Names(), name)
}

// Names lists the records, sorted.
func Names() (names []string) {
	entries, _ := files.ReadDir(".") // it is part of the program
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
