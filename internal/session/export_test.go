package session

import (
	"lightsout/internal/view"
	"time"
)

// Sampler is the sampler, for tests from outside.
type Sampler = sampler

// NewSampler is newSampler.
func NewSampler(dir string, render func(f *view.Frame, width, height int) string, now func() time.Time) (*Sampler, error) {
	return newSampler(dir, render, now)
}

// NewLivelySampler is newSampler with signs of life each so often.
func NewLivelySampler(dir string, life time.Duration) (*Sampler, error) {
	s, err := makeSampler(dir, nil, time.Now)
	if err == nil {
		s.life = life
		go s.run()
	}
	return s, err
}

// Offer is offer, Finish is close.
func (s *sampler) Offer(f *view.Frame)           { s.offer(f) }
func (s *sampler) Finish(last *view.Frame) error { return s.close(last) }

// RecordFrames records frames one after the other, none left out, as if each
// were offered when its own time came. With kill it leaves the files as a
// program does that is killed.
func RecordFrames(dir string, render func(f *view.Frame, width, height int) string, frames []*view.Frame, kill bool) error {
	s, err := makeSampler(dir, render, time.Now)
	if err != nil {
		return err
	}
	for _, f := range frames {
		s.take(f)
	}
	close(s.done)
	if kill {
		return s.Err()
	}
	return s.close(nil)
}
