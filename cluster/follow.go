package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// source is one list and watch: one kind in one namespace.
//
// It is followed by a loop of our own and not by client-go's Reflector because
// a paged list must be trimmed page by page (150,000 untrimmed pods are some
// gigabytes), a broken stream must be taken up again where it ended and not
// with a new list, and every pause must end at once when the link is back or
// the program ends.
type source struct {
	kind      Kind
	namespace string // empty: all
	selector  string // of labels
	fields    string // selector of fields
	trim      func(runtime.Object) object
	// later: only changes from now on count. Its past, if it is there, is listed once, and told.
	later bool
	past  *past
	// after: it is not followed before this is closed; nil: from the start.
	after <-chan struct{}
	// tried is to be called once its list has arrived or failed; may be nil.
	tried func()

	// opened is when the watch last worked, and ended when it last ended. Only the
	// follower uses them and watchedUntil.
	opened, ended time.Time
	// watchedUntil is up to when the owner has received everything; zero before the first list.
	watchedUntil time.Time
}

// resource is where its objects are.
func (s *source) resource() resource {
	switch s.kind {
	case KindEvent:
		return events
	case KindNeighbour, kindComponent:
		return resources[KindPod]
	}
	return resources[s.kind]
}

// line is the one that the source is followed on.
func (s *source) line() line {
	if s.kind == KindLease {
		return heartbeatLine
	}
	return mainLine
}

const (
	pageSize    = 1000
	followMin   = 300 * time.Millisecond
	followMax   = 30 * time.Second
	deniedPause = 60 * time.Second
	// settledAfter: a watch that has lasted this long resumes at once, however it
	// ended.
	settledAfter = 500 * time.Millisecond
	// A server that has restarted has no history, so every client lists again.
	// lightsout spreads its lists over this time.
	relistWithin = 3 * time.Second
	// endsWithin is how long after its timeout any watch ends.
	endsWithin = 10 * time.Second
)

// errGone reports that the server no longer has the version from which to continue.
var errGone = errors.New("the API server no longer has the watch history that lightsout needs")

// follow reports everything in src to the owner until ctx ends.
func (w *Watcher) follow(ctx context.Context, src *source) {
	version, failures := "", 0
	if src.after != nil {
		select {
		case <-src.after:
		case <-ctx.Done():
			return
		}
	}
	for w.gate.wait(ctx) {
		began := time.Now()
		next, err := w.stream(ctx, src, version)
		src.ended = time.Now()
		if ctx.Err() != nil {
			return
		}
		until := src.watchedUntil
		w.send(ctx, func(s *state) { s.watchEnded(src, until) })
		gone := errors.Is(err, errGone)
		if lasted := src.opened.After(began) && time.Since(src.opened) > settledAfter; lasted && !gone || (err == nil && next != version) {
			failures = 0
		}
		version = next
		if err == nil && time.Since(began) > time.Second {
			continue // watches end every few minutes
		}
		failures++
		pause := pauseAfter(err, failures, followMin, followMax)
		switch {
		case err == nil:
		case gone && failures == 1: // list again
			pause = followMin + rand.N(relistWithin-followMin) // many others may want it as well
		case apierrors.IsForbidden(err):
			pause = jitter(deniedPause)
			w.send(ctx, func(s *state) { s.followed(src, Access{Forbidden: true, Err: deniedSentence(src.kind, src.namespace)}) })
		default:
			failed := w.failed(src.line(), describe(err, w.client.cfg), err)
			w.send(ctx, func(s *state) { s.followed(src, failed) })
			w.checkLink(src.line())
		}
		w.followPause(ctx, pause)
	}
}

// followPause waits; a link that was lost and is back ends it early.
func (w *Watcher) followPause(ctx context.Context, pause time.Duration) {
	w.gate.mu.Lock()
	opened, open := w.gate.opened, w.gate.open
	w.gate.mu.Unlock()
	if open {
		opened = nil // it was open when we failed
	}
	select {
	case <-ctx.Done():
	case <-opened:
	case <-time.After(pause):
	}
}

// stream lists if it has to, then watches until the watch ends. It returns the version
// from which to continue; empty to list again.
func (w *Watcher) stream(ctx context.Context, src *source, version string) (string, error) {
	if l := src.line(); !src.ended.IsZero() { // the link has been checked just before the first
		if err := w.client.sameCluster(ctx, l); err != nil {
			return "", err
		}
	}
	if version == "" {
		var err error
		version, err = w.list(ctx, src)
		if src.tried != nil {
			src.tried()
		}
		if err != nil {
			return "", err
		}
	}
	return w.watch(ctx, src, version)
}

// watch watches from version on and returns the version from which to continue.
func (w *Watcher) watch(ctx context.Context, src *source, version string) (string, error) {
	seconds := 300 + rand.Int64N(300)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+endsWithin) // the server's end may get lost
	defer cancel()
	opts := metav1.ListOptions{Watch: true, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To(seconds)}
	answered := w.expectAnswer(src)
	stream, err := w.request(src, opts).Watch(ctx)
	answered()
	if err != nil {
		return again(version, err)
	}
	defer stream.Stop()
	src.opened = time.Now()
	if src.kind == KindLease {
		w.leasesFrom.Store(new(src.opened))
		defer w.leasesFrom.Store(nil)
	}
	w.send(ctx, func(s *state) { s.followed(src, Access{Synced: true}) })
	return w.read(ctx, src, stream, version)
}

// read passes the events of a watch on to the owner.
func (w *Watcher) read(ctx context.Context, src *source, stream watch.Interface, version string) (string, error) {
	defer func() { src.watchedUntil = time.Now() }()
	for ev := range stream.ResultChan() {
		now := time.Now()
		if ev.Type == watch.Error {
			return again(version, apierrors.FromObject(ev.Object))
		}
		m, err := meta.Accessor(ev.Object)
		if err != nil {
			continue
		}
		version = m.GetResourceVersion()
		if ev.Type == watch.Bookmark {
			continue
		}
		if item := src.trim(ev.Object); item != nil {
			w.send(ctx, func(s *state) {
				if ev.Type == watch.Deleted {
					item.drop(s, now)
				} else {
					item.put(s, now, false)
				}
			})
		}
	}
	return version, nil
}

// list pages through everything, trimming each page, and returns the version from which
// to watch. The server compresses pages of more than 128 KB (APIResponseCompression),
// but never a streamed list (WatchList).
func (w *Watcher) list(ctx context.Context, src *source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	p := &pages{w: w, src: src, opts: metav1.ListOptions{Limit: pageSize}}
	defer p.end()
	defer cancel()
	if src.past != nil {
		src.past.newest = nil
	} else if src.later {
		p.opts.Limit = 1
	}
	var items []object
	asked := time.Now() // all pages are of the first one's version
	for {
		page, err := p.next(ctx)
		if err != nil {
			expired := apierrors.IsResourceExpired(err) && p.opts.Continue != ""
			if expired && src.later {
				src.past = nil // too much: it stays unknown
			} else if expired {
				// The pages took longer than the server's history: all at once.
				p.opts, items, asked = metav1.ListOptions{ResourceVersion: "0"}, nil, time.Now()
				continue
			}
			return again("", err)
		}
		m, err := meta.ListAccessor(page)
		if err != nil {
			return "", err
		}
		if src.later && src.past == nil {
			return m.GetResourceVersion(), nil
		}
		_ = meta.EachListItem(page, func(o runtime.Object) error {
			switch item := src.trim(o); {
			case item == nil:
			case src.later:
				src.past.add(item)
			default:
				items = append(items, item)
			}
			return nil
		})
		read := len(items)
		w.send(ctx, func(s *state) { s.reading(src, read) })
		p.opts.Continue = m.GetContinue()
		switch told := src.past; {
		case p.opts.Continue != "":
		case src.later:
			told.sort()
			src.past = nil
			w.send(ctx, func(s *state) { told.tell(s, asked) })
			return m.GetResourceVersion(), nil
		default:
			src.watchedUntil = asked
			w.send(ctx, func(s *state) { s.listed(src, items, asked) })
			return m.GetResourceVersion(), nil
		}
	}
}

// expectAnswer has the line checked if answered is not called soon.
func (w *Watcher) expectAnswer(src *source) (answered func() bool) {
	return time.AfterFunc(probeTimeout, func() { w.checkLink(src.line()) }).Stop
}

func (w *Watcher) request(src *source, opts metav1.ListOptions) *rest.Request {
	opts.LabelSelector, opts.FieldSelector = src.selector, src.fields
	return src.resource().of(w.client.lines[src.line()].Get(), src.namespace).VersionedParams(&opts, parameterCodec)
}

// again returns the version from which to continue after err.
func again(version string, err error) (string, error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return "", errGone
	}
	return version, err
}
