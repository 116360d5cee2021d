package cluster

// nameKept is how much of an owner's name is certainly in the names of its pods: the
// API server shortens longer ones when it adds its random characters.
const nameKept = 57

// PodsOwnedBy gives the pods of a deployment, stateful set, daemon set or job by name,
// and none for other kinds. Its cost follows the number of pods whose names begin like
// the owner's.
func (s *Snapshot) PodsOwnedBy(ref Ref) []*Pod {
	kind := ownerKinds[ref.Kind]
	switch {
	case ref.Kind == KindDeployment:
		return s.PodsOf(ref.Key)
	case kind == "" || ref.Name == "":
		return nil
	}
	from := Key{ref.Namespace, ref.Name[:min(len(ref.Name), nameKept)]}
	past := Key{ref.Namespace, from.Name + "\xff"}
	var out []*Pod
	for _, p := range s.pods.span(func(p *Pod) bool { return !p.Key.less(from) }, func(p *Pod) bool { return past.less(p.Key) }) {
		if p.OwnerKind == kind && p.OwnerName == ref.Name {
			out = append(out, p)
		}
	}
	return out
}

// ownerKinds are the kinds that own pods directly, as the pods name them.
var ownerKinds = map[Kind]string{KindStatefulSet: "StatefulSet", KindDaemonSet: "DaemonSet", KindJob: "Job", KindReplicaSet: "ReplicaSet"}

// HasPods reports whether objects of the kind have pods of their own.
func (k Kind) HasPods() bool { return k == KindDeployment || ownerKinds[k] != "" }
