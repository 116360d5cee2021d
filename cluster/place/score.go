package place

import "math"

// best returns the fitting node with the highest score, by the default profile's weights; of several
// equal ones a random one. It ignores images: lightsout does not know which images a node has.
func (r *run) best(c *class, u *rules) int {
	n := len(r.fits)
	if cap(r.scores) < n {
		r.scores, r.parts = make([]int64, n), make([]int64, n)
	}
	r.scores, r.parts = r.scores[:n], r.parts[:n]
	for i, node := range r.fits {
		r.scores[i] = r.resourceScore(c, node)
	}
	r.weigh(-3, u.reluctant)
	r.weigh(2, u.preferred)
	if len(u.soft) > 0 {
		r.spreadScore(u, len(c.spec.TopologySpreadConstraints) > 0)
	}
	if len(u.preferences) > 0 {
		r.affinityScore(u)
	}
	chosen, equal := 0, 1
	for i := 1; i < n; i++ {
		if d := r.scores[i] - r.scores[chosen]; d > 0 {
			chosen, equal = i, 1
		} else if d == 0 {
			if equal++; r.dice.IntN(equal) == 0 {
				chosen = i
			}
		}
	}
	return r.fits[chosen]
}

// weigh adds the values of the nodes, scaled so that the highest is 100; nil adds nothing.
func (r *run) weigh(weight int64, of []int64) {
	var most int64
	for _, node := range r.fits {
		most = max(most, at(of, node))
	}
	for i, node := range r.fits {
		if most > 0 {
			r.scores[i] += weight * (100 * of[node] / most)
		}
	}
}

// resourceScore adds the scores for least allocated and balanced allocation of CPU and
// memory.
func (r *run) resourceScore(c *class, node int) int64 {
	capacity, l := r.nodes[node].capacity, r.load[node]
	used := r.used[node*len(r.names):]
	var sum, parts int64
	for _, x := range [2][2]int64{{capacity[cpu], l.cpu + c.scoreCPU}, {capacity[memory], l.mem + c.scoreMem}} {
		if x[0] > 0 {
			parts++
			if x[1] <= x[0] {
				sum += (x[0] - x[1]) * 100 / x[0]
			}
		}
	}
	if parts > 0 {
		sum /= parts
	}
	if c.cpu == 0 && c.mem == 0 {
		return sum // the scheduler does not balance pods without requests
	}
	with := balance(used[cpu]+c.cpu, used[memory]+c.mem, capacity)
	return sum + 50 + (50+with-l.balance)/2
}

// balance is 100 when a node uses equal parts of its CPU and memory.
func balance(cpus, mem int64, capacity []int64) int64 {
	if capacity[cpu] == 0 || capacity[memory] == 0 {
		return 100
	}
	a, b := min(1, float64(cpus)/float64(capacity[cpu])), min(1, float64(mem)/float64(capacity[memory]))
	return int64((1 - math.Abs((a-b)/2)) * 100)
}

// spreadScore prefers domains with few similar pods. strict: a node that lacks one of
// the labels scores 0.
func (r *run) spreadScore(u *rules, strict bool) {
	sizes := make([]float64, len(u.soft))
	for i := range u.soft {
		n := len(r.fits)
		if !u.soft[i].hostname {
			n = domains(u.soft[i].counter, r.fits)
		}
		sizes[i] = math.Log(float64(n + 2))
	}
	least, most := int64(math.MaxInt64), int64(0)
	counts := make([][]int32, len(u.soft))
	for i := range u.soft {
		counts[i] = r.of(u.soft[i].counter)
	}
	for k, node := range r.fits {
		score := 0.0
		for i := range u.soft {
			s := &u.soft[i]
			if d := s.counter.of[node]; d >= 0 {
				score += float64(counts[i][d])*sizes[i] + float64(s.skew-1)
			} else if strict {
				score = -1
				break
			}
		}
		r.parts[k] = int64(math.Round(score))
		if score >= 0 {
			least, most = min(least, r.parts[k]), max(most, r.parts[k])
		}
	}
	for k := range r.fits {
		switch {
		case r.parts[k] < 0:
		case most == 0:
			r.scores[k] += 2 * 100
		default:
			r.scores[k] += 2 * (100 * (most + least - r.parts[k]) / most)
		}
	}
}

// domains counts the domains that contain a node.
func domains(k *counter, nodes []int) (n int) {
	seen := make([]bool, len(k.names))
	for _, node := range nodes {
		if d := k.of[node]; d >= 0 && !seen[d] {
			seen[d] = true
			n++
		}
	}
	return n
}

// affinityScore prefers the domains of pods that the class wants nearby.
func (r *run) affinityScore(u *rules) {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for k, node := range r.fits {
		r.parts[k] = 0
		for _, p := range u.preferences {
			if d := p.of[node]; d >= 0 {
				r.parts[k] += p.weight * int64(r.of(p.counter)[d])
			}
		}
		least, most = min(least, r.parts[k]), max(most, r.parts[k])
	}
	if most > least {
		for k := range r.fits {
			r.scores[k] += 2 * int64(100*float64(r.parts[k]-least)/float64(most-least))
		}
	}
}
