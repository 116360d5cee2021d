package place

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"
)

// quotas are the ResourceQuotas by namespace, with their use during a run.
type quotas struct {
	of    map[string][]*corev1.ResourceQuota
	spent map[*corev1.ResourceQuota]corev1.ResourceList
}

// spend takes a pod's share from the quotas of its namespace; sign -1 returns it. It
// returns false, and takes nothing, when one of them has too little.
func (all *quotas) spend(c *class, sign int64) bool {
	var due []*corev1.ResourceQuota
	for _, q := range all.of[c.namespace] {
		if !scoped(q, c) {
			continue
		}
		used := all.spent[q]
		if used == nil {
			used = q.Status.Used.DeepCopy()
			all.spent[q] = used
		}
		for name, hard := range q.Spec.Hard {
			have := used[name]
			if want := counted(c, string(name)); sign > 0 && !want.IsZero() {
				if have.Add(want); have.Cmp(hard) > 0 {
					return false
				}
			}
		}
		due = append(due, q)
	}
	for _, q := range due {
		all.count(q, c, sign)
	}
	return true
}

// count adds n pods of a class to the use of a quota.
func (all *quotas) count(q *corev1.ResourceQuota, c *class, n int64) {
	for name := range q.Spec.Hard {
		have, want := all.spent[q][name], counted(c, string(name))
		want.Mul(n)
		have.Add(want)
		all.spent[q][name] = have
	}
}

// countNew counts the use of the quotas that the control plane has not counted yet.
func (w *World) countNew() {
	for namespace, list := range w.quotas {
		for i, q := range list {
			if q.Status.Used != nil {
				continue
			}
			q = q.DeepCopy()
			q.Status.Used = corev1.ResourceList{}
			list[i] = q
			all := quotas{spent: map[*corev1.ResourceQuota]corev1.ResourceList{q: q.Status.Used}}
			for _, c := range w.classes {
				if c.namespace == namespace && scoped(q, c) {
					all.count(q, c, int64(len(c.pods)+c.waiting))
				}
			}
		}
	}
}

// recount counts the use of each quota again, without the pods that hang on lost nodes: the
// control plane forgets them some time after their grace period (QuotaV1Pod in
// pkg/quota/v1/evaluator/core).
func (r *run) recount() {
	n := map[*class]int64{}
	for _, i := range r.asleep {
		n[i.class]++
	}
	for node := range r.nodes {
		for _, p := range r.on(node) {
			if !p.ending && !r.hangs[p] {
				n[p.class]++
			}
		}
	}
	for _, list := range r.quotas.of {
		for _, q := range list {
			r.quotas.spent[q] = corev1.ResourceList{}
		}
	}
	for c, n := range n {
		for _, q := range r.quotas.of[c.namespace] {
			if scoped(q, c) {
				r.quotas.count(q, c, n)
			}
		}
	}
}

// counted returns the amount of a quota's resource that a pod uses.
func counted(c *class, name string) quantity.Quantity {
	switch name {
	case "pods", "count/pods":
		return *quantity.NewQuantity(1, quantity.DecimalSI)
	}
	list := resources.PodRequests
	if rest, ok := strings.CutPrefix(name, "limits."); ok {
		name, list = rest, resources.PodLimits
	} else {
		name = strings.TrimPrefix(name, "requests.")
	}
	return list(c.pod, resources.PodResourcesOptions{})[corev1.ResourceName(name)]
}

// scoped reports whether a quota counts the pods of the class.
func scoped(q *corev1.ResourceQuota, c *class) bool {
	all := slices.Clone(q.Spec.Scopes)
	if q.Spec.ScopeSelector != nil {
		for _, e := range q.Spec.ScopeSelector.MatchExpressions {
			if e.ScopeName != corev1.ResourceQuotaScopePriorityClass {
				all = append(all, e.ScopeName)
				continue
			}
			in := slices.Contains(e.Values, c.spec.PriorityClassName)
			switch e.Operator {
			case corev1.ScopeSelectorOpIn:
				if !in {
					return false
				}
			case corev1.ScopeSelectorOpNotIn:
				if in {
					return false
				}
			case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
				if (c.spec.PriorityClassName != "") != (e.Operator == corev1.ScopeSelectorOpExists) {
					return false
				}
			}
		}
	}
	for _, s := range all {
		limits := resources.PodLimits(c.pod, resources.PodResourcesOptions{})
		bestEffort := c.cpu == 0 && c.mem == 0 && limits.Cpu().IsZero() && limits.Memory().IsZero()
		ends := c.spec.ActiveDeadlineSeconds != nil
		switch {
		case s == corev1.ResourceQuotaScopeBestEffort && !bestEffort, s == corev1.ResourceQuotaScopeNotBestEffort && bestEffort,
			s == corev1.ResourceQuotaScopeTerminating && !ends, s == corev1.ResourceQuotaScopeNotTerminating && ends:
			return false
		}
	}
	return true
}

// grace is the longest termination grace period of the pods that hang and that a quota counts.
func (r *run) grace() (most time.Duration) {
	for p := range r.hangs {
		if len(r.quotas.of[p.namespace]) > 0 {
			most = max(most, time.Duration(ptr.Deref(p.spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds))*time.Second)
		}
	}
	return most
}
