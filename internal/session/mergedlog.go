package session

import (
	"context"
	"fmt"
	"time"

	"lightsout/cluster"
)

const (
	// followedPods bounds the pods of a workload whose logs are read at once.
	followedPods = 50
	// readAgain is the pause before an ended log is read again: its container may have
	// been started again.
	readAgain = 3 * time.Second
	// fewestLines is how many earlier lines of each pod are read at least.
	fewestLines = 10
)

// mergedLog follows the logs of all pods of a workload. Only the session's loop may use
// it; its lines come from the goroutines that read.
type mergedLog struct {
	*inspections
	container string
	pods      map[podID]*followedLog
	beyond    bool // more pods than are followed
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
				m.log.note(m.now(), "", fmt.Sprintf("this workload has more pods: lightsout reads the logs of %d at once", followedPods))
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
		m.log.note(m.now(), f.pod.Name, text)
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
			last, err = m.log.readStamped(body, name, last)
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
	f.whole = m.wanted.Previous || cluster.IsForbidden(err) || err == nil && f.pod.Finished()
	switch {
	case m.reading.Err() != nil:
	case err != nil:
		m.note(f, err.Error())
	default:
		m.note(f, "the log has ended")
	}
}
