// Package forecast predicts how the control plane reacts to nodes that have lost their
// power, and what happens to their pods.
//
//	f := forecast.Outage(snapshot, nodes, at) // by the rules of the controllers
//	f.Node(name)                              // when it is detected, tainted, evicted
//	h := f.Hits()                             // what it hits; h.Lines() in sentences
//	f.FollowLines(h)                          // what follows
//	f.WontLines(h)                            // what will not happen
//	f = forecast.Drain(snapshot, nodes, at)   // the same, if the nodes are drained and stay on
//	var next forecast.Next
//	next.Lines(snapshot, now)                 // what comes next, while nodes are lost
//
// What lives here: the rules of Kubernetes' controllers as pure functions of a
// cluster.Snapshot, and their wording. What does not: watching, drawing, and
// any decision. A Forecast is immutable and safe for use by several goroutines.
package forecast
