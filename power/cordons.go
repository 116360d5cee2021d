package power

import "slices"

// LeftCordoned returns the nodes of this journal's cluster that this program has
// cordoned and not uncordoned since, oldest first.
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
