package scale

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// table gathers the figures, a row a measurement and a column a size.
type table struct {
	conditions string
	sizes      []string
	names      []string
	cells      map[string]map[string]string // row, size
}

func newTable(conditions string) *table {
	return &table{conditions: conditions, cells: map[string]map[string]string{}}
}

func (t *table) begin(size string) { t.sizes = append(t.sizes, size) }

// set notes a figure of the size begun last, and says it at once.
func (t *table) set(name, format string, args ...any) {
	size, text := t.sizes[len(t.sizes)-1], fmt.Sprintf(format, args...)
	if t.cells[name] == nil {
		t.names = append(t.names, name)
		t.cells[name] = map[string]string{}
	}
	t.cells[name][size] = text
	fmt.Fprintf(os.Stderr, "%s  %s: %s: %s\n", time.Now().Format("15:04:05"), size, name, text)
}

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| | %s |\n|---|%s\n", t.conditions, strings.Join(t.sizes, " | "), strings.Repeat("---|", len(t.sizes)))
	for _, name := range t.names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, size := range t.sizes {
			fmt.Fprintf(&b, " %s |", t.cells[name][size])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ms writes a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }

// seconds writes a duration in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// percentile gives the p-th percentile of a set of times; 0 of none.
func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// spread writes the least, the median and the most of a set of times.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f / %.0f / %.0f ms", float64(slices.Min(all))/1e6, float64(percentile(all, 50))/1e6, float64(slices.Max(all))/1e6)
}
