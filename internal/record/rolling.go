package record

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lightsout/internal/view"
	"lightsout/loadgen"
)

// Rolling keeps the newest part of a record in memory until Spill writes it to a folder.
// From then on it writes everything there as well, until Rest. Each line is in the hands
// of the operating system before its function returns, as in any record. Offer, Spill and
// Rest belong to one goroutine; Request is safe for concurrent use.
type Rolling struct {
	timeline *Timeline
	requests *Requests
	sampler  *Sampler
	age      time.Duration
	now      func() time.Time
}

// NewRolling keeps the events of the timeline, requests and samples of the time age. The
// samples take at most that many bytes, compressed, and the requests a quarter of it.
func NewRolling(t *Timeline, size int, age time.Duration, now func() time.Time) *Rolling {
	r := &Rolling{
		timeline: t, age: age, now: now, requests: &Requests{&file{past: newPast(size/4, age, now)}},
		sampler: samplerTo(&file{past: newPast(size, age, now)}, now),
	}
	go r.sampler.run()
	return r
}

// Redact replaces names in the requests and samples; see Timeline.Redact for the events.
// Call it before the first of them.
func (r *Rolling) Redact(n *Names) {
	r.requests.Redact(n)
	r.sampler.file.Redact(n)
}

// Offer hands a frame over. It never blocks.
func (r *Rolling) Offer(f *view.Frame) { r.sampler.Offer(f) }

// Request keeps a request that has ended.
func (r *Rolling) Request(q loadgen.Record) { r.requests.Add(q) }

// Past are requests that ended before now.
type Past struct {
	lines []pastLines
	since time.Time
	// From is when the newest request that is forgotten was kept; zero if it was not kept
	// after since.
	From time.Time
}

// Past returns the requests in memory that ended at since or later, as Spill writes them.
func (r *Rolling) Past(since time.Time) Past {
	f := r.requests.file
	f.mu.Lock()
	defer f.mu.Unlock()
	p := Past{since: since}
	if first := slices.IndexFunc(f.past.lines, func(l pastLines) bool { return !l.at.Before(since) }); first >= 0 {
		p.lines = slices.Clone(f.past.lines[first:])
	}
	if gone := f.past.gone; !gone.Before(since) {
		p.From = gone
	}
	return p
}

// Each calls to with each request, in the order in which they ended.
func (p Past) Each(to func(loadgen.Record)) {
	for _, l := range p.lines {
		for line := range bytes.Lines(l.read()) {
			var q loadgen.Record
			if json.Unmarshal(line, &q) == nil && !q.End.Before(p.since) {
				to(q)
			}
		}
	}
}

// Spill writes the past to the files of a record in dir, with that zero of the clock, and
// from now on everything else too. The error is the reason why it cannot.
func (r *Rolling) Spill(dir string, zero time.Time) error {
	err := r.requests.spill(filepath.Join(dir, RequestsFile))
	if err == nil {
		err = r.sampler.file.spill(filepath.Join(dir, SamplesFile))
	}
	if err == nil {
		err = r.timeline.teeSince(filepath.Join(dir, EventsFile), r.now().Add(-r.age), zero)
	}
	if err != nil {
		return errors.Join(err, r.Rest())
	}
	return nil
}

// Rest ends the record. The error reports the missing lines.
func (r *Rolling) Rest() error {
	r.sampler.file.last(Sample{At: r.now(), End: true})
	err := errors.Join(r.sampler.file.Close(), r.requests.Close(), r.timeline.Untee())
	r.timeline.rest()
	return err
}

// Err returns the reason why lines cannot be written now, and Lost counts those that are
// missing.
func (r *Rolling) Err() error {
	return errors.Join(r.requests.Err(), r.sampler.Err(), r.timeline.Err())
}

// Lost is how many lines are missing in the files.
func (r *Rolling) Lost() int { return r.requests.Lost() + r.sampler.Lost() }

// Close ends the record, and the sampling.
func (r *Rolling) Close() error {
	close(r.sampler.stop)
	<-r.sampler.done
	return r.Rest()
}

// past holds the newest lines of a file, bounded by their size and age. Its file guards it.
type past struct {
	most, size int
	age        time.Duration
	now        func() time.Time
	lines      []pastLines
	gone       time.Time // when the newest dropped lines were added; zero: none were dropped
	pack       *flate.Writer
}

// pastLines are lines that were written together.
type pastLines struct {
	at     time.Time
	text   []byte
	packed bool
}

// packedFrom is the length from which compressing lines is worth its time.
const packedFrom = 1 << 10

func newPast(most int, age time.Duration, now func() time.Time) *past {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // its only error is a wrong level
	return &past{most: most, age: age, now: now, pack: w}
}

// add keeps lines, and drops the oldest. p may be nil.
func (p *past) add(lines []byte) {
	if p == nil {
		return
	}
	l := pastLines{at: p.now()}
	if len(lines) < packedFrom {
		l.text = bytes.Clone(lines)
	} else {
		var b bytes.Buffer
		p.pack.Reset(&b)
		_, _ = p.pack.Write(lines) // a Buffer has no errors
		_ = p.pack.Close()
		l.text, l.packed = bytes.Clone(b.Bytes()), true
	}
	p.lines, p.size = append(p.lines, l), p.size+len(l.text)
	drop := 0
	for drop < len(p.lines) && (p.size > p.most || l.at.Sub(p.lines[drop].at) > p.age) {
		p.size -= len(p.lines[drop].text)
		p.gone = p.lines[drop].at
		drop++
	}
	clear(p.lines[:drop]) // the array lives on
	p.lines = p.lines[drop:]
}

// read returns the lines as they were added.
func (l pastLines) read() []byte {
	if !l.packed {
		return l.text
	}
	text, _ := io.ReadAll(flate.NewReader(bytes.NewReader(l.text))) // as add wrote it
	return text
}

// spillBytes is how much of the past is written at once.
const spillBytes = 1 << 20

// spill creates the file at path, and writes the past and all that follows to it.
func (f *file) spill(path string) error {
	d, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600) // file.try needs O_APPEND
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.disk, f.size, f.part, f.waiting, f.lost, f.err = time.Now, d, 0, false, nil, 0, nil
	var b []byte
	for _, l := range f.past.lines { // a write for each line would take seconds
		if b = append(b, l.read()...); len(b) >= spillBytes {
			f.put(b)
			b = b[:0]
		}
	}
	f.put(b)
	return nil
}

// last writes a line that does not belong to the past.
func (f *file) last(s Sample) {
	b, _ := json.Marshal(s) // it has two fields
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(append(b, '\n'))
}

// teeSince is Tee with the events that were seen since then. The clock has that zero.
func (t *Timeline) teeSince(path string, since, zero time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.openTee(path); err != nil {
		return err
	}
	t.zero = zero
	for _, e := range t.events {
		if !e.Seen.Before(since) {
			e.Offset = new(e.At.Sub(zero).Seconds())
			t.write(e, t.tee)
		}
	}
	return nil
}

// rest ends the clock: the next events have no offset.
func (t *Timeline) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zero = time.Time{}
}
