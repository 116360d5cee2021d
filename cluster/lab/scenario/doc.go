// Package scenario is what the lab can be: which machines there are, what is
// deployed on them, how fast time goes, and how to send load to it.
//
// A Scenario is data; Start makes a Cluster of it on a network and an API
// server that somebody else has started. Here live the two experiments that
// lightsout repeats. What machines, proxies and programs do is decided in
// their own packages, what the control plane does by Kubernetes alone.
package scenario
