package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"lightsout/cluster"
	"lightsout/internal/text"
	"lightsout/internal/view"
)

const (
	// followedPods bounds the pods of a workload whose logs are read at once.
	followedPods = 50
	// readAgain is the pause before an ended log is read again: its container may have
	// been started again.
	readAgain = 3 * time.Second
	// forbiddenAgain is the pause after a log that the account may not read.
	forbiddenAgain = time.Minute
	// fewestLines is how many earlier lines of each pod are read at least.
	fewestLines = 10
)

// mergedLog follows the logs of all pods of a workload. Only the session's loop may use
// it; its lines come from the goroutines that read.
type mergedLog struct {
	*inspections
	container string
	lines     mergedLines
	pods      map[podID]*followedLog
	beyond    bool // more pods than are followed
	forbidden bool // the account may not read logs; reported once
}

// podID tells pods of one name apart.
type podID struct {
	cluster.Key
	uid string
}

// followedLog is the log of one pod.
type followedLog struct {
	pod     *cluster.Pod
	cancel  context.CancelFunc // ends the reading; nil while nobody reads
	last    time.Time          // of the newest line that was read
	next    time.Time          // when to read again
	silent  bool               // the pod's node is
	noted   string             // the last note about it
	whole   bool               // everything that there will be has been read
	current int                // counts the readings; only the newest reports
}

// followPods follows the pods that are there now.
func (m *mergedLog) followPods() {
	if m.snapshot == nil {
		return
	}
	there := map[podID]bool{}
	for _, p := range m.snapshot.PodsOwnedBy(m.wanted.Of) {
		id := podID{p.Key, p.UID}
		there[id] = p.Gone.IsZero()
		f := m.pods[id]
		switch {
		case f != nil:
			f.pod = p
		case !p.Gone.IsZero() || p.Node == "":
			continue
		case len(m.pods) >= followedPods:
			if !m.beyond {
				m.lines.note(m.now(), "", fmt.Sprintf("this workload has more pods: lightsout reads the logs of %d at once", followedPods))
			}
			m.beyond = true
			continue
		default:
			f = &followedLog{pod: p}
			m.pods[id] = f
		}
		m.follow(f)
	}
	for id, f := range m.pods {
		if !there[id] {
			m.note(f, "the pod is gone")
			f.stop()
			delete(m.pods, id)
			m.beyond = false
		}
	}
}

// follow starts, stops or leaves alone the reading of one log, by the state of its pod.
func (m *mergedLog) follow(f *followedLog) {
	silent := silent(m.snapshot, f.pod.Node, m.now())
	switch {
	case silent && !f.silent:
		f.stop()
		m.note(f, f.pod.Node+" is silent: nothing more until it is back")
	case !silent && f.silent:
		f.next, f.whole = time.Time{}, false
		m.note(f, f.pod.Node+" is back")
	}
	f.silent = silent
	if silent || f.whole || f.cancel != nil || m.now().Before(f.next) {
		return
	}
	m.read(f)
}

// stop ends the reading.
func (f *followedLog) stop() {
	if f.cancel != nil {
		f.cancel()
		f.cancel = nil
		f.current++
	}
}

// note puts a note into the lines, once.
func (m *mergedLog) note(f *followedLog, text string) {
	if f.noted != text {
		f.noted = text
		m.lines.note(m.now(), f.pod.Name, text)
	}
}

// read reads a log until it ends.
func (m *mergedLog) read(f *followedLog) {
	ctx, cancel := context.WithCancel(m.reading)
	f.cancel = cancel
	f.current++
	reading, last, name := f.current, f.last, f.pod.Name
	o := cluster.LogOptions{Pod: f.pod.Key, Container: m.container, Previous: m.wanted.Previous, Since: f.last, Stamped: true, Patient: true,
		Lines: max(fewestLines, logLines/max(1, len(m.snapshot.PodsOwnedBy(m.wanted.Of))))}
	if !f.last.IsZero() {
		o.Lines = logLines
	}
	m.spawn(func() {
		defer cancel()
		body, err := m.opt.Inspect.PodLog(ctx, o)
		if err == nil {
			last, err = m.lines.read(body, name, last)
			body.Close()
		}
		m.post(func() {
			if last.After(f.last) {
				f.last, f.noted = last, ""
			}
			if f.current == reading {
				m.ended(f, err)
			}
		})
	})
}

// ended takes the end of a reading.
func (m *mergedLog) ended(f *followedLog, err error) {
	f.cancel, f.next = nil, m.now().Add(readAgain)
	f.whole = m.wanted.Previous || err == nil && f.pod.Finished()
	switch {
	case m.reading.Err() != nil:
	case cluster.IsForbidden(err):
		f.next = m.now().Add(forbiddenAgain)
		if !m.forbidden {
			m.lines.note(m.now(), "", err.Error())
		}
		m.forbidden = true
	case err != nil:
		m.note(f, err.Error())
	default:
		m.note(f, "the log has ended")
	}
}

// take puts the newest lines into shown, and reports whether there are any.
func (m *mergedLog) take(shown *view.Inspection) bool {
	l := &m.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fresh {
		return false
	}
	l.fresh = false
	shown.Merged, shown.Cut = slices.Clone(l.lines), l.cut
	return true
}

// mergedLines are the newest lines of several logs, in the order of their times. Safe
// for concurrent use.
type mergedLines struct {
	changed func() // is called when there is news

	mu    sync.Mutex
	lines []view.LogLine
	bytes int
	cut   bool
	fresh bool // something has not been taken
}

// read reads a stamped log to its end, without the lines up to the time after. It
// returns the time of the newest line.
func (l *mergedLines) read(r io.Reader, pod string, after time.Time) (last time.Time, err error) {
	last = after
	err = readLines(r, func(line string) {
		at, rest := cluster.SplitStamp(line)
		if at.IsZero() {
			at = last
		}
		if at.After(after) {
			l.add(view.LogLine{At: at, Pod: pod, Text: text.Cells(rest)})
			last = at
		}
	})
	return last, err
}

func (l *mergedLines) note(at time.Time, pod, text string) {
	l.add(view.LogLine{At: at, Pod: pod, Text: text, Note: true})
}

// add puts a line where its time belongs, and drops the oldest lines of too many.
func (l *mergedLines) add(line view.LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.lines)
	for i > 0 && l.lines[i-1].At.After(line.At) {
		i--
	}
	if i == 0 && l.cut {
		return // older than the dropped ones
	}
	l.lines = slices.Insert(l.lines, i, line)
	l.bytes += len(line.Text)
	for len(l.lines) > logLines || l.bytes > logBytes {
		l.bytes -= len(l.lines[0].Text)
		l.lines, l.cut = l.lines[1:], true
	}
	l.fresh = true
	l.changed()
}
