package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/internal/text"
	"lightsout/loadgen"
)

// failGroups is the number of groups of failures that the chart distinguishes.
const failGroups = len(loadgen.Groups)

// failLegend gives all letters and all names, for help.
func failLegend() [2]string {
	var letters, names []string
	for _, group := range loadgen.Groups {
		letters, names = append(letters, group.Letter), append(names, group.Name)
	}
	return [2]string{strings.Join(letters, " "), "failed: " + strings.Join(names, "; ")}
}

// failures draws the failures below the axis: as many cells as their number takes on
// the scale, each with the letter of a class, in a fixed order.
func (c *chart) failures(x int, b *bin) {
	if b.fails <= 0 || c.down == 0 {
		return
	}
	most := max(c.scale.fail, 1)
	if c.scale.perSecond {
		most *= max(b.seconds, 1)
	}
	cells := max(1, (b.fails*c.down+most-1)/most)
	y := c.up + 1
	for group, n := range share(b.failed, b.fails, min(cells, c.down)) {
		for range n {
			c.set(y, x, loadgen.Groups[group].Letter, c.t.alarm)
			y++
		}
	}
}

// share divides cells among groups in proportion to their numbers, by the
// largest remainders.
func share(numbers [failGroups]int, sum, cells int) [failGroups]int {
	var out, rest [failGroups]int
	left := cells
	for i, n := range numbers {
		out[i], rest[i] = n*cells/sum, n*cells%sum
		left -= out[i]
	}
	for ; left > 0; left-- {
		i := largest(rest)
		out[i]++
		rest[i] = -1
	}
	return out
}

// letterOf is the chart's letter of a class.
func letterOf(c loadgen.Class) string { return loadgen.Groups[c.Traits().Group].Letter }

// mostFirst returns the classes with failures, the one with most first.
func mostFirst(failed map[loadgen.Class]int) []loadgen.Class {
	all := slices.SortedFunc(maps.Keys(failed), func(a, b loadgen.Class) int { return cmp.Or(failed[b]-failed[a], cmp.Compare(a, b)) })
	return slices.DeleteFunc(all, func(c loadgen.Class) bool { return failed[c] <= 0 })
}

// classes lists failures by class, most first, with the chart's letters.
func classes(failed map[loadgen.Class]int, sep string) string {
	return strings.Join(text.Each(mostFirst(failed), func(c loadgen.Class) string {
		return fmt.Sprintf("%d %s [%s]", failed[c], clean(c.String()), letterOf(c))
	}), sep)
}
