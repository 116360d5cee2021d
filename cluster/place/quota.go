package place

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"
)

// spend takes a pod's share from the quotas of its namespace; sign -1 returns it. It
// returns false, and takes nothing, when one of them has too little. Pods that hang on lost nodes do
// not count: the control plane forgets them some time after their grace period (QuotaV1Pod in
// pkg/quota/v1/evaluator/core).
func (r *run) spend(c *class, sign int64) bool {
	for _, q := range r.quotas[c.namespace] {
		used := r.spent[q]
		if used == nil {
			used = corev1.ResourceList{}
			maps.Copy(used, q.Status.Used)
			r.spent[q] = used
		}
		for name, hard := range q.Spec.Hard {
			have := used[name]
			if want := counted(c, string(name)); sign > 0 && !want.IsZero() {
				if have.Add(want); have.Cmp(hard) > 0 {
					return false
				}
			}
		}
	}
	for _, q := range r.quotas[c.namespace] {
		for name := range q.Spec.Hard {
			have, want := r.spent[q][name], counted(c, string(name))
			want.Mul(sign)
			have.Add(want)
			r.spent[q][name] = have
		}
	}
	return true
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
