package tui

import "slices"

// scale converts values to the chart's rows and the gauge's cells. It only grows while
// there is anything to show, so that the chart does not jump.
type scale struct {
	// top is the largest value above the axis, and fail the largest number of failures
	// in a column below it. With perSecond, top is a rate.
	top, fail int
	perSecond bool
	span      int   // index of chartSpans
	levels    []int // values with a line: capacities, targets
}

// mostLevels is the largest number of lines that a scale fits.
const mostLevels = 6

// level adds a value with a line.
func (s *scale) level(n int) {
	if n > 0 && len(s.levels) < mostLevels && !slices.Contains(s.levels, n) {
		s.levels = append(s.levels, n)
	}
}

// grown returns the scale that also fits another one.
func (s scale) grown(o scale) scale {
	s.top, s.fail = max(s.top, o.top), max(s.fail, o.fail)
	s.levels = slices.Clip(s.levels)
	for _, n := range o.levels {
		s.level(n)
	}
	return s
}

// roundTop rounds up to one of a few steps, so that a scale seldom changes.
func roundTop(n int) int {
	for step := 1; ; step *= 2 {
		for _, m := range []int{4, 5, 6, 7} {
			if n <= m*step {
				return max(n, 1, m*step)
			}
		}
	}
}

// rows fits the scale into at most most rows, and returns how many of them the value
// top takes. Bars and lines share this scale. Among the layouts that waste little
// height it takes the one with the most lines on a multiple of grid eighths of a row,
// and of those the highest one.
func (s *scale) rows(most, grid int) (rows, top int) {
	rows, top = max(most, 1), max(s.top, 1)
	best, height := -1, 0.0
	for t := top; t*3 <= top*4; t = roundTop(t + 1) {
		for r := max(most, 1); r >= 1 && r*4 >= most*3-2; r-- {
			fit := 0
			for _, n := range s.levels {
				fit += btoi(n*r*8%(t*grid) == 0)
			}
			if h := float64(r) / float64(t); fit > best || fit == best && h > height {
				best, height, rows, top = fit, h, r, t
			}
		}
	}
	return rows, top
}
