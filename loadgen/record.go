package loadgen

import "time"

// Record is the evidence of one request that has ended. All totals can be
// recomputed from the records ([Totals.Count]). Time stamps after Scheduled
// are Scheduled plus monotonic time, so their differences are right even when
// the wall clock is set meanwhile. A zero time means that the request never got so
// far. Text is free of control characters, and no field holds a secret.
type Record struct {
	// ID is unique; the server gets it as X-Request-Id.
	ID string `json:"id"`
	// Run counts the generator's starts from 1; Shape is that start's.
	Run   int   `json:"run"`
	Shape Shape `json:"shape"`
	// Class is how it ended.
	Class Class `json:"class"`
	// Count is the number of requests that the record represents, all unsent for the
	// same reason; 0 for one.
	Count int `json:"count,omitempty"`

	// Scheduled is when it was due, Dial when its connection was asked for,
	// Connected when there was one, Sent when the request was written,
	// FirstByte and LastByte when bytes of the answer came (a chat's comments do
	// not count), FirstToken and LastToken when text first and last came in a
	// streamed chat, End when its end was known.
	Scheduled  time.Time `json:"scheduled,omitzero"`
	Dial       time.Time `json:"dial,omitzero"`
	Connected  time.Time `json:"connected,omitzero"`
	Sent       time.Time `json:"sent,omitzero"`
	FirstByte  time.Time `json:"first_byte,omitzero"`
	FirstToken time.Time `json:"first_token,omitzero"`
	LastToken  time.Time `json:"last_token,omitzero"`
	LastByte   time.Time `json:"last_byte,omitzero"`
	End        time.Time `json:"end,omitzero"`

	// Entry is the address that was dialed, when the target has several.
	Entry string `json:"entry,omitempty"`
	// Remote is the address at the other end of the connection, Reused reports that an
	// earlier request had used it.
	Remote string `json:"remote,omitempty"`
	Reused bool   `json:"reused,omitempty"`
	// Status is the HTTP status; 0: none came.
	Status int `json:"status,omitempty"`
	// Bytes of the answer, headers included; Tokens of a streamed chat, as the
	// server counts them, else the number of events that held text.
	Bytes  int64 `json:"bytes,omitempty"`
	Tokens int   `json:"tokens,omitempty"`
	// Unframed: only the end of the connection marked the end of the body, so that
	// nobody can tell a truncated body from a whole one.
	Unframed bool `json:"unframed,omitempty"`
	// Stalls are the silences longer than the stall limit.
	Stalls []Stall `json:"stalls,omitempty"`
	// Errno names the operating system's error, e.g. ECONNRESET.
	Errno string `json:"errno,omitempty"`
	// Error is one sentence on what went wrong; empty when nothing did.
	Error string `json:"error,omitempty"`
}

// Stall is a silence within an answer; a chat's comments do not end one. From is when the
// stall limit was passed, To when the answer went on or the request ended.
type Stall struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// CountedAt is the moment whose second the request counts in, on the screen
// and in every report: when it was sent; when it was due, if it never was.
func (r *Record) CountedAt() time.Time {
	if r.Sent.IsZero() {
		return r.Scheduled
	}
	return r.Sent
}

// Requests returns the number of requests that the record represents; at least 1.
func (r *Record) Requests() int { return max(r.Count, 1) }
