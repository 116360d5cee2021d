package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// The timing of a Lease, as Kubernetes' own components use it. leaseCall bounds one call.
const (
	leaseFor   = 15 * time.Second
	leaseRenew = 10 * time.Second
	leaseRetry = 2 * time.Second
	leaseCall  = 3 * time.Second
)

// Lease elects one of several programs by a Lease of the API server. Safe for use by
// several goroutines.
type Lease struct {
	elector *leaderelection.LeaderElector
	lock    *leaseLock
	id      string

	mu    sync.Mutex
	last  resourcelock.LeaderElectionRecord
	state LeaseState
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
func (c *Client) NewLease(k Key) (*Lease, error) {
	rc := rest.CopyConfig(c.cfg.rest)
	rc.GroupVersion, rc.APIPath, rc.NegotiatedSerializer = &coordinationv1.SchemeGroupVersion, "/apis", codecs.WithoutConversion()
	calls, err := rest.RESTClientForConfigAndClient(rc, c.lines[mainLine].Client)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	l := &Lease{id: host + "_" + string(uuid.NewUUID())}
	l.lock = &leaseLock{c: c, of: l, Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}, Client: coordination.New(calls),
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.id},
	}}
	l.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, LeaseDuration: leaseFor, RenewDeadline: leaseRenew, RetryPeriod: leaseRetry,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	return l, err
}

// Run takes part until ctx ends, and then gives the Lease to others.
func (l *Lease) Run(ctx context.Context) {
	for ctx.Err() == nil {
		l.elector.Run(klog.NewContext(ctx, klog.Logger{})) // State has the errors
	}
	if l.State().Mine { // the elector's own release also gives up what it could not renew
		r := l.last
		r.HolderIdentity = ""
		_ = l.lock.Update(context.WithoutCancel(ctx), r)
	}
}

// State returns what this program last saw.
func (l *Lease) State() LeaseState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// leaseLock bounds the calls of the election and keeps what they show.
type leaseLock struct {
	resourcelock.Interface
	c      *Client
	of     *Lease
	failed byte // counts the calls of Get that failed
}

// Get reads the Lease. The election compares raw: after a failure it differs, so that the
// holder has leaseFor to renew the Lease after an outage of the API server.
func (k *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseCall)
	defer cancel()
	r, raw, err := k.Interface.Get(ctx)
	k.saw(ctx, r, err)
	if err != nil && !apierrors.IsNotFound(err) {
		k.failed++
	}
	return r, append(raw, k.failed), err
}

func (k *leaseLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return k.write(ctx, r, k.Interface.Create)
}

func (k *leaseLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return k.write(ctx, r, k.Interface.Update)
}

func (k *leaseLock) write(ctx context.Context, r resourcelock.LeaderElectionRecord, call func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaseCall)
	defer cancel()
	err := call(ctx, r)
	k.saw(ctx, &r, err)
	return err
}

// saw keeps what the Lease contains, or why a call failed.
func (k *leaseLock) saw(ctx context.Context, r *resourcelock.LeaderElectionRecord, err error) {
	l := k.of
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Err = ""
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // the election handles these
	case err != nil:
		l.state.Err = fmt.Sprintf("the lease %s cannot be used: %s", k.Describe(), k.c.because(ctx, err))
	case *r != l.last:
		l.last = *r
		l.state.Mine, l.state.Renewed = r.HolderIdentity == l.id, time.Now()
		l.state.Holder, _, _ = strings.Cut(r.HolderIdentity, "_")
	}
}
