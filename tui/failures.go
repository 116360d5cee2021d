package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lightsout/loadgen"
)

// failGroups is the number of kinds of failures that the chart distinguishes.
const failGroups = 8

// failSigns are their letters, names and classes, in the order of the stack: the usual
// effects of a dead node first. The last one is any other failure.
var failSigns = [failGroups]struct {
	letter, name string
	classes      []loadgen.Class
}{
	{"r", "refused, unreachable", []loadgen.Class{loadgen.ClassRefused, loadgen.ClassUnreachable}},
	{"c", "connect timeout", []loadgen.Class{loadgen.ClassConnectTimeout}},
	{"x", "reset, truncated", []loadgen.Class{loadgen.ClassReset, loadgen.ClassTruncated, loadgen.ClassPeerDead}},
	{"t", "timeout", []loadgen.Class{loadgen.ClassFirstByte, loadgen.ClassIdle, loadgen.ClassTotal}},
	{"5", "5xx", []loadgen.Class{loadgen.Class5xx, loadgen.Class502, loadgen.Class503, loadgen.Class504}},
	{"4", "4xx", []loadgen.Class{loadgen.Class4xx}},
	{"L", "client fault, stale connection", []loadgen.Class{loadgen.ClassClient, loadgen.ClassStale}},
	{letter: "?", name: "other"},
}

// failGroup is the index of a class's letter.
func failGroup(c loadgen.Class) int {
	for i, sign := range failSigns {
		if slices.Contains(sign.classes, c) {
			return i
		}
	}
	return failGroups - 1
}

// failLegend gives all letters and all names, for help.
func failLegend() [2]string {
	var letters, names []string
	for _, sign := range failSigns {
		letters, names = append(letters, sign.letter), append(names, sign.name)
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
			c.set(y, x, failSigns[group].letter, c.t.bars.failed)
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

// classes lists failures by class, most first, with the chart's letters.
func classes(failed map[loadgen.Class]int, sep string) string {
	var parts []string
	for _, c := range slices.SortedFunc(maps.Keys(failed), func(a, b loadgen.Class) int {
		return cmp.Or(cmp.Compare(failed[b], failed[a]), cmp.Compare(a, b))
	}) {
		if failed[c] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s [%s]", failed[c], clean(string(c)), failSigns[failGroup(c)].letter))
		}
	}
	return strings.Join(parts, sep)
}
