package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTableKeepsOrderAndFrozenViewsNeverChange(t *testing.T) {
	t.Parallel()
	type item struct{ key, value int }
	rnd := rand.New(rand.NewPCG(1, 2))
	tab := newTable(func(a, b *item) bool { return a.key < b.key })
	model := map[int]int{}
	type frozen struct {
		v    view[item]
		want string
	}
	print := func(v view[item]) string {
		out := ""
		for _, x := range v.all() {
			out += fmt.Sprintf("%d=%d ", x.key, x.value)
		}
		return out
	}
	var views []frozen
	for step := range 8000 {
		k := rnd.IntN(1500)
		if rnd.IntN(3) == 0 {
			_, there := model[k]
			if got := tab.del(&item{key: k}); got != there {
				t.Fatalf("step %d: del(%d) = %v, want %v", step, k, got, there)
			}
			delete(model, k)
		} else {
			tab.set(&item{k, step})
			model[k] = step
		}
		if step%400 == 0 {
			v := tab.freeze()
			views = append(views, frozen{v, print(v)})
		}
	}
	var keys []int
	for k := range model {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	want := ""
	for _, k := range keys {
		want += fmt.Sprintf("%d=%d ", k, model[k])
	}
	if got := print(tab.view); got != want {
		t.Errorf("the table differs from the model:\n got %.200s\nwant %.200s", got, want)
	}
	if tab.n != len(model) {
		t.Errorf("n = %d, want %d", tab.n, len(model))
	}
	for i, f := range views {
		if print(f.v) != f.want {
			t.Errorf("view %d has changed since it was frozen", i)
		}
	}
	for range 200 {
		lo, hi := rnd.IntN(1500), rnd.IntN(1500)
		got := tab.span(func(x *item) bool { return x.key >= lo }, func(x *item) bool { return x.key > hi })
		i, _ := slices.BinarySearch(keys, lo)
		j, exact := slices.BinarySearch(keys, hi)
		if exact {
			j++
		}
		if n := max(0, j-i); len(got) != n || (n > 0 && (got[0].key != keys[i] || got[n-1].key != keys[j-1])) {
			t.Fatalf("span %d..%d gives %d items, want %d", lo, hi, len(got), n)
		}
	}
}
