package tui

// scale converts values to the chart's rows and the gauge's cells. It only grows while
// there is anything to show, so that the chart does not jump.
type scale struct {
	// top is the largest value above the axis, and fail the largest number of failures
	// in a column below it. With perSecond, top is a rate.
	top, fail int
	perSecond bool
	span      int // index of chartSpans
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
