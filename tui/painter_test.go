package tui

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestAPaintingIsLinesOfTextAndLooks(t *testing.T) {
	for _, sc := range scenes {
		f := sc.frame()
		for _, s := range []size{{120, 36}, {80, 24}, {61, 15}, {10, 3}} {
			got := NewPainter(Options{}).Paint(f, s.w, s.h)
			lines := strings.Split(got, "\n")
			if len(lines) != s.h {
				t.Fatalf("%s: %d lines, want %d", sc.name, len(lines), s.h)
			}
			for _, l := range lines {
				plain := sgr.ReplaceAllString(l, "")
				if strings.ContainsRune(plain, '\x1b') || width(plain) != s.w {
					t.Fatalf("%s: %q is not a line of %d cells", sc.name, l, s.w)
				}
			}
			if again := NewPainter(Options{}).Paint(f, s.w, s.h); again != got {
				t.Errorf("%s: the same frame gives another picture", sc.name)
			}
		}
	}
}

func TestAPainterDrawsWhatTheScreenShows(t *testing.T) {
	p := NewPainter(Options{})
	now := t0
	m := New(Options{Now: func() time.Time { return now }})
	resize(m, 120, 36)
	for _, sc := range scenes {
		if f := sc.frame(); f != nil && f.Question == nil && sc.keys == "" {
			now = f.Now
			m.Update(FrameMsg{f})
			// A picture has no keys, and its header has the word of a replay.
			header, got, _ := strings.Cut(stripped(p.Paint(f, 120, 35)), "\n")
			lines := strings.Split(plainView(m), "\n")
			if got != strings.Join(lines[1:35], "\n") || !strings.Contains(header, "replay") {
				t.Errorf("%s: a painter and a screen differ:\n%s\n%s", sc.name, header, got)
			}
		}
	}
}

// BenchmarkPaint is a frame of an outage under load, painted.
func BenchmarkPaint(b *testing.B) {
	p := NewPainter(Options{})
	f := failing()
	for b.Loop() {
		f.Now = f.Now.Add(500 * time.Millisecond)
		p.Paint(f, 120, 36)
	}
}
