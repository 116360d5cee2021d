package export

import (
	"cmp"
	"fmt"
	"slices"
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

// Sentences of the narration follow each other quickly, and stay for a while all the same.
func TestTheNarrationOfAFittedFilmCanBeRead(t *testing.T) {
	c := busy(4)
	var said []string
	for i := range 8 {
		text := fmt.Sprintf("sentence no. %d", i)
		at := time.Duration(i/2*65+i%2)*300*time.Millisecond + time.Duration(i/2)*45*time.Second
		c.Events = append(c.Events, Event{at, "m", text}, Event{at, "o", "\x1b[2;1H\x1b[K► " + text})
		said = append(said, text)
	}
	slices.SortStableFunc(c.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for most, want := range map[time.Duration]time.Duration{30 * time.Second: 1300 * time.Millisecond, 12 * time.Second: 650 * time.Millisecond} {
		frames, _, err := Fit(t.Context(), c, Options{Captions: true}, most)
		if err != nil || frames[len(frames)-1].Until > most {
			t.Fatalf("%s: %v", most, err)
		}
		for _, text := range said {
			stays := time.Duration(0)
			for _, f := range frames {
				if f.Screen.shows(text) {
					stays += f.Until - f.At
				}
			}
			if stays < want {
				t.Errorf("%s: %q stays for %s, want %s", most, text, stays, want)
			}
		}
	}
}

func TestExportSpeedsAFilmUpOnlyIfNecessary(t *testing.T) {
	c := busy(3) // 15 s in which something changes, and two minutes of silence
	for most, want := range map[time.Duration]string{
		5 * time.Minute: "1 2s", 25 * time.Second: "1 2s", 21 * time.Second: "1 1s", 16 * time.Second: "1.5 1s",
		8 * time.Second: "3 500ms", 3 * time.Second: "", // whatever it takes
	} {
		_, o, err := Fit(t.Context(), c, Options{}, most)
		if got := fmt.Sprintf("%g %s", o.Speed, o.Idle); err != nil || want != "" && got != want {
			t.Errorf("%s: --speed and --idle are %s, want %s (%v)", most, got, want, err)
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

func TestAFittedFilmKeepsItsFramesWithAMinimumTimePerFrame(t *testing.T) {
	c := busy(3) // something changes for 3 times 5 s
	frames, _, err := Fit(t.Context(), c, Options{Least: time.Second}, 10*time.Second)
	if err != nil || len(frames) < 6 {
		t.Errorf("%d frames: %v", len(frames), err)
	}
	for _, f := range frames[:len(frames)-1] {
		if f.At > 0 && f.Until-f.At < time.Second {
			t.Errorf("a frame lasts %s", f.Until-f.At)
		}
	}
}
