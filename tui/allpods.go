package tui

import "lightsout/cluster"

// podPiece is what is known of a piece of all pods.
type podPiece struct {
	ranks        [troubles][]*cluster.Pod // by podTrouble
	ready, total int
}

// takeAll takes all pods, those in trouble first, and counts those that are meant
// to run. It keeps what it finds out of their pieces, so that a change costs what
// its piece costs and not what a cluster's pods do.
func (p *podsPane) takeAll(s *scene) {
	all := s.snap.PodPieces()
	known := make(map[**cluster.Pod]*podPiece, len(all))
	pieces := make([]*podPiece, len(all))
	p.ready, p.total, p.many = 0, 0, false
	for i, pods := range all {
		piece := p.pieces[&pods[0]]
		if piece == nil {
			piece = newPodPiece(s, pods)
		}
		known[&pods[0]], pieces[i] = piece, piece
		p.ready, p.total = p.ready+piece.ready, p.total+piece.total
		p.many = p.many || pods[len(pods)-1].Namespace != all[0][0].Namespace
	}
	p.pieces = known
	p.rows = make([]*cluster.Pod, 0, s.snap.PodCount())
	for rank := range troubles {
		for _, piece := range pieces {
			p.rows = append(p.rows, piece.ranks[rank]...)
		}
	}
	p.follow()
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
