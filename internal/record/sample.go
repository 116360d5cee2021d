package record

import (
	"time"

	"lightsout/cluster"
	"lightsout/internal/outage"
	"lightsout/internal/view"
	"lightsout/loadgen"
)

// SampleSchema is the version of the schema of Sample, which every keyframe has. In
// version 1, the seconds of the load counted requests by their due time
// (loadgen.Record.CountedAt). Up to version 3, stage was called phase, and sending asking.
const SampleSchema = 4

// Sample is one line of samples.jsonl: the state of the screen without the
// events, as the difference from the line before. Fields that are absent have
// not changed. Lines come when something has changed, at most two a second,
// and at least one each five seconds while the program lives.
type Sample struct {
	// Schema is SampleSchema on a keyframe.
	Schema int       `json:"schema,omitempty"`
	At     time.Time `json:"at"`
	// Key: this is a keyframe; nothing that came before it counts. The first
	// line is one, and one follows about every half minute.
	Key bool `json:"key,omitempty"`
	// More: the next line belongs to the same moment.
	More bool `json:"more,omitempty"`
	// End: the program ended in order after this line.
	End bool `json:"end,omitempty"`
	// Seq is the newest event's number.
	Seq int `json:"seq,omitempty"`

	Title   *view.Title `json:"title,omitempty"`
	Zero    *time.Time  `json:"zero,omitempty"`
	Cluster *Cluster    `json:"cluster,omitempty"`
	// Machines are those that have changed, by node; null: no longer known.
	// Reads are the times of polls of machines with the same result.
	Machines map[string]*view.MachineView `json:"machines,omitempty"`
	Reads    map[string]time.Time         `json:"reads,omitempty"`
	Load     *LoadSample                  `json:"load,omitempty"`
	NoLoad   *string                      `json:"load_ready,omitempty"`
	Focus    *cluster.Key                 `json:"focus,omitempty"`
	Next     *[]string                    `json:"next,omitempty"`
	// Trial without a Name: there is none. Doing describes its present step.
	Trial   *view.TrialView `json:"trial,omitempty"`
	Doing   *string         `json:"doing,omitempty"`
	Outages *[]outage.Span  `json:"outages,omitempty"`
	// Question without a Title: nothing is being asked.
	Question *view.Question `json:"question,omitempty"`
	Notice   *view.Notice   `json:"notice,omitempty"`
}

// Cluster holds the changes in the cluster's snapshot. Objects are written as cluster's
// own types.
type Cluster struct {
	// None: there is no snapshot yet.
	None    bool      `json:"none,omitempty"`
	Version uint64    `json:"version,omitempty"`
	At      time.Time `json:"at,omitzero"`

	Server          *Server                         `json:"server,omitempty"`
	Link            *cluster.Link                   `json:"link,omitempty"`
	Access          map[cluster.Kind]cluster.Access `json:"access,omitempty"`
	Settings        *cluster.Settings               `json:"settings,omitempty"`
	HeartbeatsSince *time.Time                      `json:"heartbeats_since,omitempty"`
	HeartbeatsUntil *time.Time                      `json:"heartbeats_until,omitempty"`

	Nodes       []*cluster.Node       `json:"nodes,omitempty"`
	Deployments []*cluster.Deployment `json:"deployments,omitempty"`
	Pods        []*cluster.Pod        `json:"pods,omitempty"`
	Endpoints   []*cluster.Endpoints  `json:"endpoints,omitempty"`
	// Beats are the nodes of which only the heartbeat has changed.
	Beats map[string]Beat `json:"beats,omitempty"`

	GoneNodes       []string      `json:"gone_nodes,omitempty"`
	GoneDeployments []cluster.Key `json:"gone_deployments,omitempty"`
	GonePods        []cluster.Key `json:"gone_pods,omitempty"`
	GoneEndpoints   []cluster.Key `json:"gone_endpoints,omitempty"`
}

// Server names the API server that a snapshot comes from.
type Server struct {
	Context string `json:"context,omitempty"`
	URL     string `json:"url,omitempty"`
	Version string `json:"version,omitempty"`
}

// Beat is a node's heartbeat: cluster.Node's Renewed and RenewSeen.
type Beat struct {
	Renewed time.Time `json:"renewed,omitzero"`
	Seen    time.Time `json:"seen,omitzero"`
}

// LoadSample is the changes of the load.
type LoadSample struct {
	// Run is without its Seconds.
	Run *loadgen.Run `json:"run,omitempty"`
	// From and To are the first and the last second of the windows, in Unix time; 0:
	// there are none. Windows lists the changed ones; one that was never written is
	// zero.
	From    int64             `json:"from,omitempty"`
	To      int64             `json:"to,omitempty"`
	Windows []*loadgen.Second `json:"windows,omitempty"`
}
