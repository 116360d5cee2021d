package view

import "time"

// RecordLine is a line of the list of records.
type RecordLine struct {
	At   time.Time
	What string
	Took time.Duration // 0: unknown
	// Verdict is that of a trial, or the severity of an outage.
	Verdict string
	// Cluster is the name of its cluster's folder; empty if all in the list are of one cluster.
	Cluster string
	// Path is the folder of the record.
	Path string
}
