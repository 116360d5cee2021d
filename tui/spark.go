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
		i, st := 0, t.bad
		switch {
		case v >= top && top > 0:
			i, st = steps, t.good
		case v > 0 && top > 0:
			i, st = max(1, v*steps/top), t.warn
		}
		if i == 0 {
			r.put(st, t.lowest)
			continue
		}
		r.put(st, t.eighths[i])
	}
}
