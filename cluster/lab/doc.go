// Lightsout-lab is a Kubernetes cluster for experiments with power: a real control
// plane in child processes, with simulated machines, ssh servers, a power API and a
// Knative service behind it. Package assembly describes what a client finds; package
// scenario lists the scenarios.
//
//	lightsout-lab --scenario mdx --pace fast
//
// prints one line of JSON when everything runs, and runs until it gets
// SIGTERM, SIGINT or SIGHUP, or, with --stdin-leash, until its standard input
// or its parent ends. Whatever it has made is gone then.
package main
