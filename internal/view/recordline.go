package view

import "time"

// RecordLine is a line of the list of records.
type RecordLine struct {
	At   time.Time
	What string
	Took time.Duration // 0: unknown
	// Verdict is that of a trial, or the severity of an outage.
	Verdict string
	// Path is the folder of the record.
	Path string
}
