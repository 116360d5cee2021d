package record

import (
	"path/filepath"
	"time"

	"lightsout/internal/view"
)

const (
	// sampleEach is the least time between two lines of samples.jsonl; lifeSign is the most.
	sampleEach = 500 * time.Millisecond
	lifeSign   = 5 * time.Second
	// keyframeEach is how often all of the state is written again. For large
	// clusters it is less often, so that keyframes take no more than
	// keyframeRate bytes a second.
	keyframeEach = 30 * time.Second
	keyframeRate = 100_000
)

// Sampler records the operator's view: the state of the screen as samples. It works in a
// goroutine of its own and never delays the caller; if frames come faster than it writes, it
// takes the newest.
type Sampler struct {
	*file
	now func() time.Time

	frames chan *view.Frame // the newest one offered
	stop   chan struct{}
	done   chan struct{}

	// Owned by the goroutine, and by Close after that has ended.
	taken    *view.Frame // the newest frame taken; nil before the first
	last     *view.Frame // the newest that was written down; nil before the first
	wrote    time.Time
	keyed    time.Time
	keyBytes int
	keyLost  int // samples that had been lost at the last keyframe
	beats    beats
}

// NewSampler makes samples.jsonl in dir. now is the clock; names are replaced. The error
// names the file that it cannot create.
func NewSampler(dir string, now func() time.Time, names *Names) (*Sampler, error) {
	samples, err := openFile(filepath.Join(dir, SamplesFile), noScreen)
	if err != nil {
		return nil, err
	}
	samples.Redact(names)
	s := samplerTo(samples, now)
	go s.run()
	return s, nil
}

// samplerTo returns a Sampler that does not run.
func samplerTo(samples *file, now func() time.Time) *Sampler {
	return &Sampler{
		beats: beats{}, now: now, file: samples,
		frames: make(chan *view.Frame, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// Offer hands a frame over. It never blocks; one goroutine may call it.
func (s *Sampler) Offer(f *view.Frame) { view.Renew(s.frames, f) }

// Close writes last down, whatever was written before, as the end of the record, and
// closes the file. Offer must not be called after it. The error reports the missing data.
func (s *Sampler) Close(last *view.Frame) error {
	close(s.stop)
	<-s.done
	s.sample(last, true)
	return s.file.Close()
}

func (s *Sampler) run() {
	defer close(s.done)
	timer := time.NewTimer(lifeSign)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C: // no frame came, and the program lives
			if s.last != nil {
				s.add(Sample{At: s.now(), Seq: newestEvent(s.taken)})
				s.wrote = s.now()
			}
			timer.Reset(lifeSign)
			continue
		case f := <-s.frames:
			s.taken = f
			s.sample(f, false)
		}
		timer.Reset(sampleEach)
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		timer.Reset(lifeSign)
	}
}

// sample writes the changes in f, if they deserve a line or one is due: one line or, for a
// large keyframe, several.
func (s *Sampler) sample(f *view.Frame, end bool) {
	base := s.last
	lost := s.Lost() // the next changes depend on them
	keyframe := base == nil || lost != s.keyLost || apart(f.Now, s.keyed) >= max(keyframeEach, time.Duration(s.keyBytes)*time.Second/keyframeRate)
	x, news := difference(base, f)
	if !news && !end && base != nil && apart(f.Now, s.wrote) < lifeSign {
		return
	}
	if keyframe {
		x, _ = difference(nil, f)
		x.Key, x.Schema = true, SampleSchema
	}
	s.beats.into(&x, f.Snapshot)
	x.End = end
	bytes := 0
	for _, line := range split(x) {
		bytes += s.add(line) // 0 for text that is not a number: the next keyframe has the rest
	}
	s.last, s.wrote = f, f.Now
	if keyframe {
		s.keyed, s.keyBytes, s.keyLost = f.Now, bytes, lost
	}
}

// apart is how far two times are apart; the clock may be set back.
func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

func newestEvent(f *view.Frame) int {
	if len(f.Events) == 0 {
		return 0
	}
	return f.Events[len(f.Events)-1].Seq
}
