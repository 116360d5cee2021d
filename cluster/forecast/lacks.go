package forecast

import (
	"regexp"
	"slices"

	"lightsout/internal/text"
)

var lacking = regexp.MustCompile(`Insufficient (\S*\w)|Too many (pods)`)

// Lacks lists what nodes have too little of, by the scheduler's message about a pod.
func Lacks(message string) (lacks []string) {
	for _, m := range lacking.FindAllStringSubmatch(message, -1) {
		lacks = append(lacks, text.Clean(m[1]+m[2], 60))
	}
	slices.Sort(lacks)
	return slices.Compact(lacks)
}
