package recorder

import (
	"time"

	"lightsout/internal/record"
)

// State is the stage of an outage that a notice is about.
type State string

// States of an outage in notices.
const (
	StateBegan   State = "began"
	StateChanged State = "changed" // there are new signs
	StateEnded   State = "ended"
)

// Notice is what hooks receive: the command as JSON on its standard input.
type Notice struct {
	State    State           `json:"state"`
	Sentence string          `json:"sentence"`
	Severity record.Severity `json:"severity"`
	Cluster  string          `json:"cluster"`
	Zero     time.Time       `json:"zero"`
	Ended    time.Time       `json:"ended,omitzero"`
	// Record is the folder of the record; Report the path of its report, once it exists.
	Record string `json:"record"`
	Report string `json:"report,omitempty"`
}

// Health is what a recorder saw and did at a time.
type Health struct {
	At time.Time
	// Connected: the API server answers. Recording: there is an outage. Leads: this recorder reports it.
	Connected, Recording, Leads bool
}
