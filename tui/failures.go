package tui

import (
	"fmt"
	"sort"
	"strings"

	"lightsout/loadgen"
)

// failGroups is the number of kinds of failures that the chart tells apart.
const failGroups = 8

// failSigns are their letters and names, in the order in which they are
// stacked: what a dead node does to its clients first.
var failSigns = [failGroups]struct{ letter, name string }{
	{"r", "refused, unreachable"},
	{"c", "connect timeout"},
	{"x", "reset, truncated"},
	{"t", "timeout"},
	{"5", "5xx"},
	{"4", "4xx"},
	{"L", "client fault"},
	{"?", "other"},
}

// failGroup is the index of a class's letter.
func failGroup(c loadgen.Class) int {
	switch c {
	case loadgen.ClassRefused, loadgen.ClassUnreachable:
		return 0
	case loadgen.ClassConnectTimeout:
		return 1
	case loadgen.ClassReset, loadgen.ClassTruncated, loadgen.ClassPeerDead:
		return 2
	case loadgen.ClassFirstByte, loadgen.ClassIdle, loadgen.ClassTotal:
		return 3
	case loadgen.Class4xx:
		return 5
	case loadgen.ClassClient:
		return 6
	}
	if strings.HasPrefix(string(c), "5") {
		return 4
	}
	return failGroups - 1
}

// failLetters and failNames are all of failSigns, for help.
func failLetters() string {
	var out []string
	for _, f := range failSigns {
		out = append(out, f.letter)
	}
	return strings.Join(out, " ")
}

func failNames() string {
	var out []string
	for _, f := range failSigns {
		out = append(out, f.name)
	}
	return strings.Join(out, "; ")
}

// failures draws what failed below the axis: so many cells as the number
// takes on the scale, each with the letter of a class, in a fixed order.
func (c *chart) failures(x int, b *bin) {
	if b.fails <= 0 || c.down == 0 {
		return
	}
	cells := max(1, (b.fails*c.down+c.scale.fail-1)/max(c.scale.fail, 1))
	y := c.up + 1
	for group, n := range share(b.failed, b.fails, min(cells, c.down)) {
		for range n {
			c.set(y, x, failSigns[group].letter, c.t.bars[lookFailed])
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
	keys := make([]loadgen.Class, 0, len(failed))
	for c, n := range failed {
		if n > 0 {
			keys = append(keys, c)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := failed[keys[i]], failed[keys[j]]; a != b {
			return a > b
		}
		return keys[i] < keys[j]
	})
	parts := make([]string, len(keys))
	for i, c := range keys {
		parts[i] = fmt.Sprintf("%d %s [%s]", failed[c], clean(string(c)), failSigns[failGroup(c)].letter)
	}
	return strings.Join(parts, sep)
}
