package record

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"

	"lightsout/internal/view"
)

const (
	// sampleEach is the least time between two lines of samples.jsonl and
	// between two pictures of screen.cast; lifeSign is the most.
	sampleEach = 500 * time.Millisecond
	lifeSign   = 5 * time.Second
	// keyframeEach is how often all of the state is written again. For large
	// clusters it is less often, so that keyframes take no more than
	// keyframeRate bytes a second.
	keyframeEach = 30 * time.Second
	keyframeRate = 100_000
	// lively is how long after an event the clocks on the cast still move once
	// a second; after that it shows a sign of life.
	lively = 2 * time.Minute

	castWidth, castHeight = 120, 36
)

// Sampler records the operator's view: the state of the screen as samples, and its
// picture as a cast. It works in a goroutine of its own and never delays the caller; if
// frames come faster than it writes, it takes the newest.
type Sampler struct {
	render  func(f *view.Frame, width, height int) string
	now     func() time.Time
	samples *file
	cast    *Cast // nil: no samples
	files   []*file

	frames chan *view.Frame // the newest one offered
	stop   chan struct{}
	done   chan struct{}

	// Owned by the goroutine, and by close after that has ended.
	taken    *view.Frame // the newest frame taken; nil before the first
	last     *view.Frame // the newest that was written down; nil before the first
	wrote    time.Time
	keyed    time.Time
	keyBytes int
	lost     int // samples that had been lost at the last keyframe
	beats    beats
	pictured time.Time // when the last picture was made
	moments  Moments
	newest   int       // the newest event's number
	stirred  time.Time // when it last changed
}

// NewSampler makes samples.jsonl in dir and, when render is given, screen.cast with
// pictures that it makes of frames. render is called from another goroutine than the
// caller's. now is the clock; names are replaced in both. The error names the file that
// it cannot create.
func NewSampler(dir string, render func(f *view.Frame, width, height int) string, now func() time.Time, names *Names) (*Sampler, error) {
	s, err := makeSampler(dir, render, now, names)
	if err == nil {
		go s.run()
	}
	return s, err
}

// makeSampler is NewSampler without the goroutine.
func makeSampler(dir string, render func(f *view.Frame, width, height int) string, now func() time.Time, names *Names) (*Sampler, error) {
	samples, err := openFile(filepath.Join(dir, SamplesFile), noScreen)
	if err != nil {
		return nil, err
	}
	samples.Redact(names)
	s := samplerTo(samples, now)
	if render != nil {
		s.render = render
		s.cast, err = newCast(filepath.Join(dir, CastFile), CastOptions{Width: castWidth, Height: castHeight, Names: names})
		if err != nil {
			return nil, errors.Join(err, samples.Close())
		}
		s.files = append(s.files, s.cast.file)
	}
	return s, nil
}

// samplerTo returns a Sampler that writes samples alone, and does not run.
func samplerTo(samples *file, now func() time.Time) *Sampler {
	return &Sampler{
		beats: beats{}, now: now, samples: samples, files: []*file{samples},
		frames: make(chan *view.Frame, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// Offer hands a frame over. It never blocks; one goroutine may call it.
func (s *Sampler) Offer(f *view.Frame) {
	select {
	case <-s.frames:
	default:
	}
	s.frames <- f
}

// Close writes last down, whatever was written before, as the end of the record, and
// closes the files. A nil last is the newest frame offered. Offer must not be called
// after it. The error reports the missing data.
func (s *Sampler) Close(last *view.Frame) error {
	close(s.stop)
	<-s.done
	select {
	case s.taken = <-s.frames:
	default:
	}
	if last = cmp.Or(last, s.taken); last != nil {
		s.sample(last, true)
		s.picture(last)
	}
	err := s.samples.Close()
	if s.cast != nil {
		err = errors.Join(err, s.cast.Close())
	}
	return err
}

// Err returns the reason why it cannot write samples or pictures now; the Sampler
// retries. It is safe for concurrent use.
func (s *Sampler) Err() error {
	for _, f := range s.files {
		if err := f.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Lost is how many samples and pictures are missing. Safe for use by several
// goroutines.
func (s *Sampler) Lost() (n int) {
	for _, f := range s.files {
		n += f.Lost()
	}
	return n
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
				s.samples.add(Sample{At: s.now(), Seq: s.newest})
				s.wrote = s.now()
			}
			timer.Reset(lifeSign)
			continue
		case f := <-s.frames:
			s.take(f)
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

// take writes the changes in f, if they deserve a line or a line is due.
func (s *Sampler) take(f *view.Frame) {
	s.taken = f
	news := s.sample(f, false)
	if n := newestEvent(f); n != s.newest {
		s.newest, s.stirred = n, f.Now
	}
	each := lifeSign
	if f.Load.Active || f.Load.Totals.InFlight() > 0 || f.Now.Sub(s.stirred) < lively {
		each = time.Second
	}
	if news || apart(f.Now, s.pictured) >= each {
		s.picture(f)
	}
}

func (s *Sampler) picture(f *view.Frame) {
	if s.cast != nil {
		s.pictured = f.Now
		for _, text := range s.moments.In(f) {
			s.cast.Mark(f.Now, text)
		}
		s.cast.Show(f.Now, "lightsout "+f.Cluster, s.render(f, castWidth, castHeight))
	}
}

// sample writes a line or, for a large keyframe, several. It reports whether
// there was anything new.
func (s *Sampler) sample(f *view.Frame, end bool) bool {
	base := s.last
	lost := s.samples.Lost() // the next changes depend on them
	keyframe := base == nil || lost != s.lost || apart(f.Now, s.keyed) >= max(keyframeEach, time.Duration(s.keyBytes)*time.Second/keyframeRate)
	x, news := difference(base, f)
	if !news && !end && base != nil && apart(f.Now, s.wrote) < lifeSign {
		return false
	}
	if keyframe {
		x, _ = difference(nil, f)
		x.Key, x.Schema = true, SampleSchema
	}
	s.beats.into(&x, f.Snapshot)
	x.End = end
	bytes := 0
	for _, line := range split(x) {
		bytes += s.samples.add(line) // 0 for text that is not a number: the next keyframe has the rest
	}
	s.last, s.wrote = f, f.Now
	if keyframe {
		s.keyed, s.keyBytes, s.lost = f.Now, bytes, lost
	}
	return news
}

// apart is how far two times are apart; the clock may be set back.
func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

func newestEvent(f *view.Frame) int {
	if len(f.Events) == 0 {
		return 0
	}
	return f.Events[len(f.Events)-1].Seq
}
