package report

import (
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/text"
)

// planMatrix lists the lines, without comments, that some plans have and others lack.
// It has no rows if all plans are alike, or if the trials differ.
func planMatrix(rs []*record.Record) *matrix {
	m := newMatrix("plans: the lines that differ", rs, "")
	counts := make([]map[string]int, len(rs))
	var lines []string // in the order of their first appearance
	seen := map[string]bool{}
	for i, r := range rs {
		if r.Summary != nil && rs[0].Summary != nil && r.Summary.Name != rs[0].Summary.Name {
			return m
		}
		counts[i] = map[string]int{}
		for line := range strings.Lines(string(r.Plan)) {
			if line = planLine(line); line == "" {
				continue
			}
			counts[i][line]++
			if !seen[line] {
				seen[line] = true
				lines = append(lines, line)
			}
		}
	}
	for _, line := range lines {
		if sameCount(counts, line) {
			continue
		}
		row := m.row(key{line, text.Clean(line, 80)})
		for i := range rs {
			switch n := counts[i][line]; {
			case n == 1:
				row[i].Text = "yes"
			case n > 1:
				row[i].Text = itoa(n) + " times"
			}
		}
	}
	return m
}

// planLine returns a line of a plan without its comment and indentation.
func planLine(line string) string {
	line = strings.TrimSpace(line)
	if before, _, found := strings.Cut(line, " #"); found {
		line = strings.TrimSpace(before)
	}
	if strings.HasPrefix(line, "#") {
		return ""
	}
	return line
}

func sameCount(counts []map[string]int, line string) bool {
	for _, c := range counts {
		if c[line] != counts[0][line] {
			return false
		}
	}
	return true
}
