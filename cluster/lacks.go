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
	cordoned   = regexp.MustCompile(`(\d+) node\(s\) were unschedulable`)
	pinning    = regexp.MustCompile(`olume(?:'s)? node affinity`)
	preemption = regexp.MustCompile(`\. [^.]*preemption: .*`)
)

// Short is why the scheduler places a pod nowhere, by its message: how many nodes are cordoned, the rules that keep the
// pod from nodes and what they have too little of, or else the message.
func Short(message string) string {
	rules := Rules(message)
	short := append(text.Each(captured(cordoned, message), func(n string) string { return "cordoned nodes: " + n }), rules...)
	switch lacks := Lacks(message); {
	case RulesBlock(message) && rules == nil:
		short = append(short, "the place of its volume")
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

// Pinned reports whether, by the scheduler's message about a pod, its volume keeps it from other nodes.
func Pinned(message string) bool { return pinning.MatchString(message) }

// Rules lists the rules of a pod, such as its topology spread constraints, that keep it from nodes by the scheduler's
// message about it; none if its volume does.
func Rules(message string) []string {
	if strings.Contains(strings.ToLower(message), "volume") {
		return nil
	}
	return captured(ruling, message)
}

// Lacks lists what nodes have too little of, by the scheduler's message about a pod.
func Lacks(message string) []string { return captured(lacking, message) }

// captured lists what the groups of a pattern match in a message, each once and in order.
func captured(pattern *regexp.Regexp, message string) []string {
	found := text.Each(pattern.FindAllStringSubmatch(message, -1), func(m []string) string { return text.Clean(strings.Join(m[1:], ""), 60) })
	slices.Sort(found)
	return slices.Compact(found)
}
