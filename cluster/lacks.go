package cluster

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"lightsout/internal/text"
)

var (
	lacking    = regexp.MustCompile(`Insufficient (\S*\w)|Too many (pods)`)
	ruling     = regexp.MustCompile(`didn't (?:match|satisfy) (?:existing )?([Pp]od[^,.]*)`)
	preemption = regexp.MustCompile(`\. [^.]*preemption: .*`)
)

// Short is why the scheduler places a pod nowhere, by its message: the rules that keep the pod from nodes and what they
// have too little of, or else the message.
func Short(message string) string {
	short := Rules(message)
	switch lacks := Lacks(message); {
	case RulesBlock(message) && short == nil:
		return "the place of its volume"
	case lacks != nil:
		short = append(short, "Insufficient "+text.List(lacks))
	}
	return cmp.Or(strings.Join(short, "; "), message)
}

// Unpreempted is the scheduler's message about a pod without what it adds on preemption.
func Unpreempted(message string) string { return preemption.ReplaceAllString(message, "") }

// RulesBlock reports whether, by the scheduler's message about a pod, rules keep it from nodes, such as spread,
// affinity or the place of its volume: room alone may not help it.
func RulesBlock(message string) bool {
	return strings.Contains(message, "didn't match") || strings.Contains(message, "volume")
}

// Rules lists the rules of a pod, such as its topology spread constraints, that keep it from nodes by the scheduler's
// message about it; none if its volume does.
func Rules(message string) (rules []string) {
	for _, m := range ruling.FindAllStringSubmatch(message, -1) {
		if !strings.Contains(strings.ToLower(message), "volume") {
			rules = append(rules, text.Clean(m[1], 60))
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// Lacks lists what nodes have too little of, by the scheduler's message about a pod.
func Lacks(message string) []string {
	lacks := text.Each(lacking.FindAllStringSubmatch(message, -1), func(m []string) string { return text.Clean(m[1]+m[2], 60) })
	slices.Sort(lacks)
	return slices.Compact(lacks)
}
