// Package phase keeps the forecasts and observations of each phase of an outage and of
// the return, for one trial and on the trial's clock: the rows of [view.Phase].
//
//	t := phase.NewTracker(deployment)       // namespace/name; zero: no rows of a deployment
//	t.Zero(at, snapshot)                    // the first power-off is asked for
//	t.Switched(node, power.ActionOff, at)   // each machine that is switched, off and on
//	t.Power(node, reading)                  // each reading of a machine
//	t.Observe(snapshot, now)                // every new snapshot, and once a second
//	t.Request(r)                            // each request that has ended
//	t.Observed(view.PhaseDetected, node)  // when, for what waits for it
//	t.AllEvicted(node)                      // not the first of its pods only
//	t.Why(view.PhaseReplaced, subject)    // one sentence, if it is not to be waited for
//	t.Back(node)                            // of one that was powered on
//	t.Outages()                             // what windows of requests are asked about
//	t.Table()                               // all rows so far
//
// The subject of a row is the node's name; for "replaced" and "capacity
// restored" the deployment, namespace/name; for "error window" it is [Load].
// Rows exist for every node that was switched off, the deployment and the load
// as soon as there is a zero, seen or not.
//
// What lives here: the rules by which phases are recognised, and the freezing
// of forecasts. How far a node is, its outage.Outage says, and the forecasts themselves are
// those of package cluster/forecast. What does not: waiting, judging, writing, and any
// goroutine. A Tracker is owned by one goroutine.
package phase
