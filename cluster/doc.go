// Package cluster follows the objects of a Kubernetes API server.
//
//	client, err := cluster.NewClient(config)       // single calls: Version, May, Drain, ...
//	w := cluster.NewWatcher(client, options)       // follows nodes, leases, pods, ...
//	go w.Run(ctx)                                  // tells every Transition to options.Sink
//	s := w.Snapshot()                              // everything there is, immutable
//
// A watch event takes this way: follow.go receives it, trim.go and trimwork.go keep the
// fields that lightsout shows, delta.go passes it to the goroutine that owns the state,
// nodes.go, pods.go, endpoints.go and heartbeat.go find the changes, and state.go
// publishes the next Snapshot.
//
// What lives here: reading a kubeconfig, the connection to the API server and
// its health, trimming API objects to the value types in types.go, status
// words (kubectl's and our own), and the calls. What does not: forecasts, which
// are in cluster/forecast, switching machines, sending load, drawing, and any
// decision about what to do. A dialer through a bastion is handed in as a plain
// function.
//
// A Snapshot is built for 5,000 nodes and 150,000 pods: its tables share every
// chunk that has not changed with the Snapshot before it, so the cost of a new
// one follows what changed and not what there is. Heartbeats that change no word
// stand beside it and make none.
package cluster
