package tui

// sparkline draws the newest of values in w cells against top, the height of a
// full cell.
func (r *row) sparkline(t *theme, values []int, top, w int) {
	if len(values) > w {
		values = values[len(values)-w:]
	}
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
