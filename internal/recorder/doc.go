// Package recorder records outages that nobody planned.
//
// A Recorder is the guest of a session without power drivers: it receives what the
// session observes, and acts on nothing. It keeps the newest minutes in memory
// (record.Rolling), finds the signs of an outage in each snapshot (signs.go) and in the
// requests (probes.go), records one outage at a time, until outage.follow ends it
// (outage.go), and reports it to hooks (hooks.go). What clients noticed is in severity.go
// and row.go. keep.go keeps the folder of the records in order.
package recorder
