package cluster

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// chunkMax is the most items a chunk holds before it is split. A change
// copies one chunk (2 KiB of pointers) and one table of chunk pointers.
const chunkMax = 256

// chunk is a run of sorted items. It may be written only by the table whose
// epoch it carries; after that table is frozen it is never written again.
type chunk[T any] struct {
	epoch uint64
	items []*T
}

// view is an immutable sorted list, cut into chunks. The zero view is empty.
type view[T any] struct {
	chunks []*chunk[T]
	n      int
	whole  *whole[T] // nil: not frozen
}

// whole is a frozen view's list in one piece, made when it is first asked for; and what was found
// out about it.
type whole[T any] struct {
	once  sync.Once
	items []*T
	note  atomic.Value
}

// table is the writable side of a view: a sorted list that copies on write
// what a frozen view still shares with it. Not safe for concurrent use.
type table[T any] struct {
	view[T]
	less  func(a, b *T) bool
	epoch uint64
}

func newTable[T any](less func(a, b *T) bool) *table[T] {
	return &table[T]{less: less, epoch: 1}
}

// freeze gives the present contents as an immutable view, in constant time: the
// same one while nothing has changed.
func (t *table[T]) freeze() view[T] {
	if t.whole == nil {
		t.epoch++
		t.whole = &whole[T]{}
	}
	return t.view
}

// ownChunks makes the chunk slice itself writable.
func (t *table[T]) ownChunks() {
	if t.whole != nil {
		t.chunks = append(make([]*chunk[T], 0, len(t.chunks)+1), t.chunks...)
		t.whole = nil
	}
}

// own makes chunk i writable, with room for one more item.
func (t *table[T]) own(i int) *chunk[T] {
	t.ownChunks()
	c := t.chunks[i]
	if c.epoch != t.epoch {
		c = &chunk[T]{epoch: t.epoch, items: append(make([]*T, 0, len(c.items)+1), c.items...)}
		t.chunks[i] = c
	}
	return c
}

// find gives the chunk and the place in it where v is or belongs.
func (t *table[T]) find(v *T) (ci, i int, found bool) {
	if len(t.chunks) == 0 {
		return 0, 0, false
	}
	ci, i = t.seek(func(x *T) bool { return !t.less(x, v) })
	if ci == len(t.chunks) {
		last := len(t.chunks) - 1
		return last, len(t.chunks[last].items), false
	}
	return ci, i, !t.less(v, t.chunks[ci].items[i])
}

// set inserts v, or replaces the item that sorts equal to it.
func (t *table[T]) set(v *T) {
	if len(t.chunks) == 0 {
		t.ownChunks()
		t.chunks = append(t.chunks, &chunk[T]{epoch: t.epoch, items: []*T{v}})
		t.n = 1
		return
	}
	ci, i, found := t.find(v)
	c := t.own(ci)
	if found {
		c.items[i] = v
		return
	}
	c.items = slices.Insert(c.items, i, v)
	t.n++
	if len(c.items) > chunkMax {
		half := len(c.items) / 2
		right := &chunk[T]{epoch: t.epoch, items: append(make([]*T, 0, chunkMax), c.items[half:]...)}
		clear(c.items[half:])
		c.items = c.items[:half]
		t.chunks = slices.Insert(t.chunks, ci+1, right)
	}
}

// del removes the item that sorts equal to v; it reports whether there was one.
func (t *table[T]) del(v *T) bool {
	ci, i, found := t.find(v)
	if !found {
		return false
	}
	c := t.own(ci)
	c.items = slices.Delete(c.items, i, i+1)
	t.n--
	if len(c.items) == 0 {
		t.chunks = slices.Delete(t.chunks, ci, ci+1)
	}
	return true
}

// seek gives the first place for which at holds; at must be false and then
// true along the order. The chunk index is len(chunks) when there is none.
func (v view[T]) seek(at func(*T) bool) (ci, i int) {
	ci = sort.Search(len(v.chunks), func(k int) bool {
		items := v.chunks[k].items
		return at(items[len(items)-1])
	})
	if ci == len(v.chunks) {
		return ci, 0
	}
	items := v.chunks[ci].items
	return ci, sort.Search(len(items), func(k int) bool { return at(items[k]) })
}

// first gives the first item for which at holds, nil if there is none.
func (v view[T]) first(at func(*T) bool) *T {
	ci, i := v.seek(at)
	if ci == len(v.chunks) {
		return nil
	}
	return v.chunks[ci].items[i]
}

// span gives the items from the first for which from holds up to the first
// for which past holds. It copies only when they lie in more than one chunk.
func (v view[T]) span(from, past func(*T) bool) []*T {
	ci, i := v.seek(from)
	if ci == len(v.chunks) {
		return nil
	}
	items := v.chunks[ci].items
	end := i + sort.Search(len(items)-i, func(k int) bool { return past(items[i+k]) })
	if end < len(items) || ci+1 == len(v.chunks) {
		return items[i:end:end]
	}
	out := append([]*T(nil), items[i:]...)
	for _, c := range v.chunks[ci+1:] {
		end := sort.Search(len(c.items), func(k int) bool { return past(c.items[k]) })
		out = append(out, c.items[:end]...)
		if end < len(c.items) {
			break
		}
	}
	return out
}

// all gives every item in order; the slice is shared by all who ask a frozen view.
func (v view[T]) all() []*T {
	w := cmp.Or(v.whole, &whole[T]{})
	w.once.Do(func() {
		w.items = make([]*T, 0, v.n)
		for _, c := range v.chunks {
			w.items = append(w.items, c.items...)
		}
	})
	return w.items
}

// each calls f for every item in order until f says false.
func (v view[T]) each(f func(*T) bool) {
	for _, c := range v.chunks {
		for _, x := range c.items {
			if !f(x) {
				return
			}
		}
	}
}
