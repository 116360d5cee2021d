package power

import "slices"

// ForItself is what a cordon prepares that the operator wanted itself, with :cordon: no action. It is the operator's, as
// one of kubectl: it stays until somebody uncordons the node. Every other cordon is lightsout's, which undoes it.
const ForItself Action = ""

// LeftCordoned returns the nodes of this journal's cluster that this program has
// cordoned and not uncordoned since, oldest first. Their Action is what the cordon prepared, or ForItself.
func (j *Journal) LeftCordoned() ([]Entry, error) {
	all, err := j.LeftCordonedAll()
	c := j.Cluster()
	return slices.DeleteFunc(all, func(e Entry) bool { return !e.Cluster.Same(c) }), err
}

// LeftCordonedAll is LeftCordoned for the nodes of all clusters.
func (j *Journal) LeftCordonedAll() ([]Entry, error) {
	err := j.lock()
	defer j.mu.Unlock()
	return slices.Clone(j.left.cordon), err
}
