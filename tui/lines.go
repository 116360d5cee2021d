package tui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"lightsout/trial"
)

// Lines writes what happens as plain lines, one an event, for where there is no
// terminal. Lines are harmless for a terminal all the same. It is used by one
// goroutine.
type Lines struct {
	w      io.Writer
	last   int // Seq of the newest event written
	notice time.Time
}

// NewLines makes Lines that write to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Frame writes the events of f that were not written yet, and its notice if it
// is new. Events that no frame carried any more are told of by their number.
// It returns the first error of the writer.
func (l *Lines) Frame(f *trial.Frame) error {
	for _, e := range f.Events {
		if e.Seq <= l.last {
			continue
		}
		if gap := e.Seq - l.last - 1; gap > 0 && l.last > 0 {
			if _, err := fmt.Fprintf(l.w, "(%d events are in the record only)\n", gap); err != nil {
				return err
			}
		}
		l.last = e.Seq
		if _, err := fmt.Fprintln(l.w, Line(e)); err != nil {
			return err
		}
	}
	if f.Notice != "" && f.NoticeAt.After(l.notice) {
		l.notice = f.NoticeAt
		if _, err := fmt.Fprintf(l.w, "%s notice %s\n", f.NoticeAt.Format(lineTime), clean(f.Notice)); err != nil {
			return err
		}
	}
	return nil
}

const lineTime = "15:04:05.000"

// Line writes an event as one line: time of day, offset from the trial's zero
// where there is one, lane, subject, text.
func Line(e trial.Event) string {
	parts := []string{e.At.Format(lineTime)}
	if e.Offset != nil {
		parts = append(parts, signed(time.Duration(*e.Offset*float64(time.Second)), true))
	}
	for _, p := range []string{e.Lane, e.Subject, eventText(plainTheme, e)} {
		if p = strings.TrimSpace(clean(p)); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

var plainTheme = newTheme(false, true)
