package tui

import (
	"strings"

	"lightsout/cluster"
	"lightsout/internal/view"
)

// mergedFacts are the lines of the logs of a workload's pods, each with its time on the
// timeline and the end of its pod's name.
func mergedFacts(s *scene, of cluster.Ref, lines []view.LogLine) []fact {
	at, pod := 0, 0
	for _, l := range lines {
		at, pod = max(at, width(s.offset(l.At.Local()))), max(pod, width(shortPod(of, l.Pod)))
	}
	out := make([]fact, len(lines))
	for i, l := range lines {
		text, st := l.Text, style("")
		if l.Note {
			text, st = "("+text+")", s.t.warn
		}
		when, name := s.offset(l.At.Local()), s.t.text(shortPod(of, l.Pod))
		out[i] = plainFact(s, st, pad(when, at)+" "+pad(name, pod)+" "+text)
	}
	return out
}

// shortPod is the part of a pod's name that tells it from others of its workload: its
// last part, but for stateful sets, where that is a number.
func shortPod(of cluster.Ref, pod string) string {
	if of.Kind == cluster.KindStatefulSet {
		return pod
	}
	return pod[strings.LastIndexByte(pod, '-')+1:]
}
