package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
)

// The timing of a Lease, as Kubernetes' own components use it: another program may take one that did
// not change for leaseFor, and each looks every leaseRetry. leaseCall bounds one call.
const (
	leaseFor   = 15 * time.Second
	leaseRetry = 2 * time.Second
	leaseCall  = 3 * time.Second
)

// Lease elects one of several programs by a Lease of the API server, as client-go's leaderelection does,
// which would compile every client of every API group into the program. Safe for use by several
// goroutines.
type Lease struct {
	c   *Client
	key Key
	id  string

	// version is what Run saw last, and since when; a failure begins a new time, in which the holder
	// can renew the Lease after an outage of the API server. Only Run uses them.
	version string
	since   time.Time

	state atomic.Value // a LeaseState
}

// LeaseState is what a program last saw of a Lease.
type LeaseState struct {
	// Mine: this program was the holder. Holder is the holder's host; empty: none.
	Mine   bool
	Holder string
	// Renewed is when this program saw the Lease change; zero: never.
	Renewed time.Time
	// Err is a sentence on why the newest call failed; empty: it did not.
	Err string
}

// NewLease takes part in the election by the Lease with that key, which Run creates if it
// is missing.
func (c *Client) NewLease(k Key) *Lease {
	host, _ := os.Hostname()
	l := &Lease{c: c, key: k, id: host + "_" + string(uuid.NewUUID())}
	l.state.Store(LeaseState{})
	return l
}

// Run takes part until ctx ends, and then gives the Lease to others.
func (l *Lease) Run(ctx context.Context) {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) { l.look(ctx, l.id) }, leaseRetry)
	if l.State().Mine {
		l.look(context.WithoutCancel(ctx), "")
	}
}

// State returns what this program last saw.
func (l *Lease) State() LeaseState { return l.state.Load().(LeaseState) }

// look reads the Lease, and makes somebody its holder unless it is another program's.
func (l *Lease) look(ctx context.Context, holder string) {
	ctx, cancel := context.WithTimeout(ctx, 2*leaseCall)
	defer cancel()
	var x coordinationv1.Lease
	calls, leases := l.c.lines[mainLine], resources[KindLease]
	err := leases.of(calls.Get(), l.key.Namespace).Name(l.key.Name).Timeout(leaseCall).Do(ctx).Into(&x)
	request := leases.of(calls.Put(), l.key.Namespace).Name(l.key.Name)
	if apierrors.IsNotFound(err) {
		x = coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name}}
		request, err = leases.of(calls.Post(), l.key.Namespace), nil
	}
	l.saw(ctx, &x, err)
	was := ptr.Deref(x.Spec.HolderIdentity, "")
	if err != nil || was != l.id && (holder == "" || was != "" && time.Since(l.since) < leaseFor) {
		return
	}
	now := metav1.NowMicro()
	if was != holder {
		x.Spec.AcquireTime, x.Spec.LeaseTransitions = &now, ptr.To(ptr.Deref(x.Spec.LeaseTransitions, 0)+1)
	}
	x.Spec.HolderIdentity, x.Spec.RenewTime, x.Spec.LeaseDurationSeconds = &holder, &now, ptr.To(int32(leaseFor/time.Second))
	err = request.Body(&x).Timeout(leaseCall).Do(ctx).Into(&x)
	l.saw(ctx, &x, err)
}

// saw keeps what the Lease contains, or why a call failed.
func (l *Lease) saw(ctx context.Context, x *coordinationv1.Lease, err error) {
	now, state := time.Now(), l.State()
	state.Err = ""
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // another program was faster; the next look shows it
	case err != nil:
		l.since, state.Err = now, fmt.Sprintf("the lease %s cannot be used: %s", l.key, l.c.because(ctx, err))
	case x.ResourceVersion != l.version:
		l.version, l.since = x.ResourceVersion, now
		holder := ptr.Deref(x.Spec.HolderIdentity, "")
		state.Mine, state.Renewed = holder == l.id, now
		state.Holder, _, _ = strings.Cut(holder, "_")
	}
	l.state.Store(state)
}
