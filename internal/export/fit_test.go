package export

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// busy is a cast in which something changes each tenth of a second for a while, then
// nothing for a minute, and so on.
func busy(spells int) *Cast {
	c := &Cast{Width: 20, Height: 3}
	at := time.Duration(0)
	for i := range spells {
		for j := range 50 {
			c.Events = append(c.Events, Event{at, "o", fmt.Sprintf("\x1b[H%d.%d", i, j)})
			at += time.Second / 10
		}
		at += time.Minute
	}
	return c
}

func TestAFilmFitsWhateverIsInIt(t *testing.T) {
	for _, most := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 5 * time.Minute} {
		for name, c := range map[string]*Cast{"busy": busy(20), "calm": scene(t), "one picture": {Width: 20, Height: 3, Events: []Event{{0, "o", "x"}}}} {
			frames, o, err := Fit(t.Context(), c, Options{Captions: true}, most)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, most, err)
			}
			if got := frames[len(frames)-1].Until; got > most {
				t.Errorf("%s lasts %s, not %s", name, got, most)
			}
			same, err := Film(t.Context(), c, o)
			if err != nil || len(same) != len(frames) || same[len(same)-1].Until != frames[len(frames)-1].Until {
				t.Errorf("%s: the options that were chosen make another film: %v, %v", name, same, err)
			}
		}
	}
}

func TestExportKeepsTheLimitsOrRefusesTheFilm(t *testing.T) {
	_, o, err := Fit(t.Context(), busy(3), Options{Idle: 100 * time.Millisecond}, 10*time.Second)
	if err != nil || o.Idle != 100*time.Millisecond || o.Speed <= 1 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, o, err = Fit(t.Context(), busy(3), Options{Speed: 2}, 15*time.Second); err != nil || o.Speed != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, _, err = Fit(t.Context(), busy(3), Options{Speed: 2}, 5*time.Second); err == nil || !strings.Contains(err.Error(), "--speed 2") {
		t.Errorf("%v", err)
	}
	if _, _, err = Fit(t.Context(), busy(3), Options{}, time.Millisecond); err == nil {
		t.Error("a film of a millisecond")
	}
}
