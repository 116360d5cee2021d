package export

import (
	"context"
	"fmt"
	"math"
	"time"
)

// paces are tried in order until the film is short enough: first idle time is cut,
// then the film is played faster, at most so many times.
var paces = []struct {
	idle    time.Duration
	fastest float64
}{{2 * time.Second, 1}, {time.Second, 1.5}, {500 * time.Millisecond, 3}, {250 * time.Millisecond, math.MaxFloat64}}

// readings are parts of the usual time for reading a narration, tried in order.
var readings = []float64{1, 0.75, 0.5, 0.35, 0}

// fastestRead bounds the speed of a film whose narration is to be read: the pictures
// between its sentences must be seen, too.
const fastestRead = 12

// ShortestFit is the shortest that a film can be asked to be.
const ShortestFit = time.Second

// Fit is Film for a film that lasts at most so long, whatever is in the cast. It
// chooses Speed and Idle, and returns the options that it chose. Those that o has
// already it keeps, as far as the film fits with them.
func Fit(ctx context.Context, c *Cast, o Options, most time.Duration) ([]Frame, Options, error) {
	if most < ShortestFit {
		return nil, o, fmt.Errorf("a film can't be made to fit %s: the shortest is %s", most, ShortestFit)
	}
	th, err := c.themeOf(o.Theme)
	if err != nil {
		return nil, o, err
	}
	o.Hold = min(3*time.Second, most/4)
	speed, idle := o.Speed, o.Idle
	all, err := play(ctx, c, th, &o)
	if err != nil {
		return nil, o, err
	}
	for _, o.read = range readings {
		if frames, ok := shorten(all, &o, speed, idle, most); ok {
			frames, err = fitted(frames, th)
			return frames, o, err
		}
	}
	return nil, o, fmt.Errorf("the film does not fit %s at --speed %g and --idle %s: leave out one of them, or show less of it (--from, --to)", most, speed, o.Idle)
}

// shorten looks for the slowest pace at which the film lasts at most so long. It keeps
// speed and idle where they are set.
func shorten(all []moment, o *Options, speed float64, idle, most time.Duration) ([]Frame, bool) {
	for _, p := range paces {
		o.Idle = idle
		if idle <= 0 {
			o.Idle = p.idle
		}
		fastest := p.fastest * max(speed, 1)
		switch {
		case speed > 0:
			fastest = speed
		case o.read > 0:
			fastest = min(fastest, fastestRead)
		}
		for o.Speed = max(speed, 1); o.Speed <= fastest; o.Speed = faster(o.Speed) {
			if frames := cut(all, *o); frames[len(frames)-1].Until <= most {
				return frames, true
			}
		}
	}
	return nil, false
}

// faster is the next speed to be tried, in tenths.
func faster(speed float64) float64 { return math.Ceil(speed*1.08*10) / 10 }
