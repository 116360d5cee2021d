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
	resource  resource
	namespace string // empty: all
	selector  string // of labels
	fields    string // selector of fields
	trim      func(runtime.Object) object
	// later: the past is not asked for, only what happens from now on.
	later bool

	// opened is when the watch was last under way, and cut how often in a row a
	// streamed list ended early: the follower's own.
	opened time.Time
	cut    int
}

// line is the one that the source is followed on.
func (s *source) line() line {
	if s.kind == KindLease {
		return heartbeatLine
	}
	return mainLine
}

const (
	pageSize    = 500
	followMin   = 300 * time.Millisecond
	followMax   = 30 * time.Second
	deniedPause = 60 * time.Second
	// settledAfter: a watch that has lasted so long is taken up again at once,
	// however it ended.
	settledAfter = 500 * time.Millisecond
	// A server that has been restarted knows no history: everybody lists anew.
	// Over this time these lists are spread.
	relistWithin = 3 * time.Second
)

// streamTries is how often a list is asked for as a stream before it is paged. A
// server that is busy ends streams early, and pages cost it more.
const streamTries = 3

// errCutShort: a list that was streamed ended before it was whole.
var errCutShort = errors.New("the list ended before it was whole")

// errGone: the place to continue from is not known any more.
var errGone = errors.New("the server's history does not reach back far enough")

// follow keeps the owner told of everything in src until ctx ends.
func (w *Watcher) follow(ctx context.Context, src *source) {
	version, failures := "", 0
	for w.gate.wait(ctx) {
		began := time.Now()
		next, err := w.stream(ctx, src, version)
		if ctx.Err() != nil {
			return
		}
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
		case gone && failures == 1: // it is listed anew
			pause = relistPause()
		case apierrors.IsForbidden(err):
			pause = jitter(deniedPause)
			w.send(ctx, followed{src, Access{Forbidden: true, Err: deniedSentence(src.kind, src.namespace)}})
		default:
			w.send(ctx, followed{src, w.failed(src.line(), describe(err, w.client.cfg.Server), err)})
			w.checkLink(src.line())
		}
		w.followPause(ctx, pause)
	}
}

// relistPause is how long a list waits that many others may want as well.
func relistPause() time.Duration { return followMin + rand.N(relistWithin-followMin) }

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

// stream lists if it has to, then watches until the watch ends. It gives the
// version to continue from, empty to list anew.
func (w *Watcher) stream(ctx context.Context, src *source, version string) (string, error) {
	if version == "" && !src.later && w.streams.Load() {
		next, err := w.watch(ctx, src, "")
		if !errors.Is(err, errCutShort) {
			src.cut = 0
		} else if src.cut++; src.cut < streamTries {
			return "", err
		}
		if next != "" || ctx.Err() != nil {
			return next, err
		}
		// The server may have it switched off, or its database may not be able to
		// do it: pages are always to be had, and if not, the better error.
	}
	if version == "" {
		var err error
		if version, err = w.list(ctx, src); err != nil {
			return "", err
		}
	}
	return w.watch(ctx, src, version)
}

// watch watches from version on, from an empty one with everything there is as a
// stream before. It gives the version to continue from; empty when a streamed
// list did not come to its end.
func (w *Watcher) watch(ctx context.Context, src *source, version string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := metav1.ListOptions{Watch: true, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To(300 + rand.Int64N(300))}
	streamed := version == ""
	if streamed {
		opts.SendInitialEvents, opts.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
	}
	answered := w.expectAnswer(src)
	stream, err := w.request(src, opts).Watch(ctx)
	answered()
	if err != nil {
		return again(version, err)
	}
	defer stream.Stop()
	defer w.stopped(src)
	if !streamed {
		w.started(src, time.Now())
		w.send(ctx, followed{src, Access{Synced: true}})
	}
	return w.read(ctx, src, stream, version, streamed)
}

// read hands on what a watch sends. While the initial list is being streamed
// it is gathered, trimmed, and handed on as one.
func (w *Watcher) read(ctx context.Context, src *source, stream watch.Interface, version string, initial bool) (string, error) {
	var gathered []object
	for ev := range stream.ResultChan() {
		now := time.Now()
		if ev.Type == watch.Error {
			return again(version, apierrors.FromObject(ev.Object))
		}
		m, err := meta.Accessor(ev.Object)
		if err != nil {
			continue
		}
		var item object
		if ev.Type != watch.Bookmark {
			item = src.trim(ev.Object)
		}
		switch {
		case initial && ev.Type == watch.Added:
			if item != nil {
				gathered = append(gathered, item)
			}
			continue // initial events come in no order: their versions say nothing
		case initial && ev.Type == watch.Bookmark && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true":
			initial = false
			w.started(src, now)
			w.send(ctx, listed{src, gathered, now})
			gathered = nil
		case initial:
			continue
		case item == nil:
		case ev.Type == watch.Deleted:
			w.send(ctx, deleted{item, now})
		default:
			w.send(ctx, changed{item, now})
		}
		version = m.GetResourceVersion()
	}
	if initial {
		return "", errCutShort
	}
	return version, nil
}

// list pages through everything, trimming each page, and gives the version to
// watch from.
func (w *Watcher) list(ctx context.Context, src *source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	opts := metav1.ListOptions{Limit: pageSize}
	if src.later {
		opts.Limit = 1
	}
	var items []object
	for {
		answered := w.expectAnswer(src)
		page, err := w.request(src, opts).Do(ctx).Get()
		answered()
		if err != nil {
			if apierrors.IsResourceExpired(err) && opts.Continue != "" {
				// The pages took longer than the server's history: all at once.
				opts, items = metav1.ListOptions{ResourceVersion: "0"}, nil
				continue
			}
			return again("", err)
		}
		m, err := meta.ListAccessor(page)
		if err != nil {
			return "", err
		}
		if src.later {
			return m.GetResourceVersion(), nil
		}
		_ = meta.EachListItem(page, func(o runtime.Object) error {
			if item := src.trim(o); item != nil {
				items = append(items, item)
			}
			return nil
		})
		if opts.Continue = m.GetContinue(); opts.Continue == "" {
			w.send(ctx, listed{src, items, time.Now()})
			return m.GetResourceVersion(), nil
		}
	}
}

// expectAnswer has the line checked if answered is not called soon.
func (w *Watcher) expectAnswer(src *source) (answered func() bool) {
	return time.AfterFunc(probeTimeout, func() { w.checkLink(src.line()) }).Stop
}

// started and stopped say from when to when the source's changes come.
func (w *Watcher) started(src *source, now time.Time) {
	if src.opened = now; src.kind == KindLease {
		w.leasesFrom.Store(&now)
	}
}

func (w *Watcher) stopped(src *source) {
	if src.kind == KindLease {
		w.leasesFrom.Store(nil)
	}
}

func (w *Watcher) request(src *source, opts metav1.ListOptions) *rest.Request {
	opts.LabelSelector, opts.FieldSelector = src.selector, src.fields
	r := w.client.lines[src.line()].Get().MaxRetries(0).AbsPath(src.resource.path()).Resource(src.resource.plural).VersionedParams(&opts, parameterCodec)
	if src.namespace != "" {
		r.Namespace(src.namespace)
	}
	return r
}

// again says from where to go on after err.
func again(version string, err error) (string, error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return "", errGone
	}
	return version, err
}
