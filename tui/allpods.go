package tui

import "lightsout/cluster"

// podPiece is what is known of a piece of all pods.
type podPiece struct {
	ranks        [troubles][]*cluster.Pod // by podTrouble
	ready, total int
}

// allPods keeps what was found out of the pieces of all pods, so that a change
// costs what its piece costs and not what a cluster's pods do.
type allPods struct{ pieces map[**cluster.Pod]*podPiece }

// look gives all pods, those in trouble first, and counts those that are meant
// to run.
func (a *allPods) look(s *scene) (rows []*cluster.Pod, ready, total int, many bool) {
	all := s.snap.PodPieces()
	known := make(map[**cluster.Pod]*podPiece, len(all))
	pieces := make([]*podPiece, len(all))
	for i, pods := range all {
		p := a.pieces[&pods[0]]
		if p == nil {
			p = newPodPiece(s, pods)
		}
		known[&pods[0]], pieces[i] = p, p
		ready, total = ready+p.ready, total+p.total
	}
	a.pieces = known
	rows = make([]*cluster.Pod, 0, s.snap.PodCount())
	for rank := range troubles {
		for _, p := range pieces {
			rows = append(rows, p.ranks[rank]...)
		}
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		many = all[0][0].Namespace != last[len(last)-1].Namespace
	}
	return rows, ready, total, many
}

func newPodPiece(s *scene, pods []*cluster.Pod) *podPiece {
	p := &podPiece{ranks: ranked(s, pods, podTrouble)}
	p.ready, p.total = tally(pods)
	return p
}

// tally counts the pods that are meant to run, and those of them that are ready.
func tally(pods []*cluster.Pod) (ready, total int) {
	for _, pod := range pods {
		meant, runs := counted(pod)
		ready, total = ready+btoi(runs), total+btoi(meant)
	}
	return ready, total
}

// counted reports whether a pod is meant to run, and whether it does.
func counted(p *cluster.Pod) (meant, ready bool) {
	meant = p.Gone.IsZero() && !p.Finished()
	return meant, meant && p.Ready
}
