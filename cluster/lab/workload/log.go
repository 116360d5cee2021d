package workload

import (
	"io"
	"log"
)

// silent is where net/http's complaints about connections go: in the lab
// broken connections are the point.
var silent = log.New(io.Discard, "", 0)
