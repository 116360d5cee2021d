package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"lightsout/internal/text"
)

// row builds one line of exactly w cells. It drops text that does not fit, and fills
// the rest with spaces.
type row struct {
	b    strings.Builder
	left int
}

func newRow(w int) *row {
	r := &row{left: max(w, 0)}
	r.b.Grow(w + 112) // for the looks of a few texts
	return r
}

// put writes a cleaned text in a look.
func (r *row) put(st style, s string) *row {
	s, n := cutLeft(s, r.left)
	if n == 0 {
		return r
	}
	r.left -= n
	r.b.WriteString(string(st))
	r.b.WriteString(s)
	if st != "" {
		r.b.WriteString(reset)
	}
	return r
}

const reset = "\x1b[m"

// cell writes a text in exactly w cells, left-aligned, shortened at its end.
func (r *row) cell(t *theme, st style, s string, w int) *row {
	s = fit(s, w, t.ellipsis)
	return r.put(st, s).space(w - width(s))
}

// textLine is a text of one line, indented, shortened at its end.
func textLine(t *theme, w, indent int, st style, text string) string {
	return newRow(w).space(indent).rest(t, st, text).String()
}

// rest writes a text into the rest of the line except its last cell, and shortens its
// end.
func (r *row) rest(t *theme, st style, text string) *row {
	return r.put(st, fit(text, r.left-1, t.ellipsis))
}

// right writes a text in exactly w cells, right-aligned.
func (r *row) right(t *theme, st style, s string, w int) *row {
	s = fit(s, w, t.ellipsis)
	return r.space(w-width(s)).put(st, s)
}

// repeat writes a one-cell symbol n times.
func (r *row) repeat(st style, symbol string, n int) *row {
	return r.put(st, strings.Repeat(symbol, max(0, min(n, r.left))))
}

func (r *row) space(n int) *row {
	if n = min(n, r.left); n > 0 {
		r.b.WriteString(blank(n))
		r.left -= n
	}
	return r
}

// flag writes a one-cell symbol where something is so, else a space.
func (r *row) flag(is bool, st style, symbol string) *row {
	if is {
		return r.put(st, symbol)
	}
	return r.space(1)
}

// String pads the line to its width and gives it.
func (r *row) String() string {
	r.space(r.left)
	return r.b.String()
}

func blank(n int) string { return strings.Repeat(" ", max(n, 0)) }

// beside puts lines at the right of others, as many.
func beside(left, right []string) []string {
	out := make([]string, len(left))
	for i := range left {
		out[i] = left[i] + right[i]
	}
	return out
}

// below puts parts below each other, w cells wide, with an empty line between
// them.
func below(w int, parts ...[]string) []string {
	var out []string
	for _, part := range parts {
		if len(part) > 0 && len(out) > 0 {
			out = append(out, blank(w))
		}
		out = append(out, part...)
	}
	return out
}

// dimmed gives plain lines in the faint look, for what lies behind a dialog
// or is stale.
func dimmed(t *theme, lines []string) []string {
	return text.Each(lines, func(l string) string { return string(t.dim) + stripped(l) + reset })
}

// stripped removes the looks from a line.
func stripped(s string) string { return ansi.Strip(s) }

// over lays the lines of a dialog, each dw cells wide, over base at x, y. What
// of base stays visible is dimmed.
func over(t *theme, base, dialog []string, w, x, y, dw int) []string {
	out := dimmed(t, base)
	for i, d := range dialog {
		plain := stripped(base[y+i])
		left, lw := cutLeft(plain, x)
		right := cutRight(plain, w-x-dw)
		out[y+i] = string(t.dim) + left + blank(x-lw) + reset + d +
			string(t.dim) + blank(w-x-dw-width(right)) + right + reset
	}
	return out
}

// sparkline draws the newest of values in w cells against top, the height of a
// full cell.
func (r *row) sparkline(t *theme, values []int, top, w int) {
	values = values[max(0, len(values)-w):]
	for _, v := range values {
		top = max(top, v)
	}
	steps := len(t.eighths) - 1
	for _, v := range values {
		switch {
		case v <= 0:
			r.put(t.bad, t.lowest)
		case v == top:
			r.put(t.good, t.eighths[steps])
		default:
			r.put(t.warn, t.eighths[max(1, v*steps/top)])
		}
	}
}
