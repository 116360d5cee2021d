package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lightsout/internal/labtest"
	"lightsout/internal/record"
	"lightsout/internal/testenv"
	"lightsout/loadgen"
)

// truth is what Knative's own components report between two moments: the requests that
// the activators hold, those of them that a pod works on, and the slots of the pods that
// the activators send requests to. What is held and not worked on is queued in the
// activator, or sits in pods without power.
type truth struct {
	from, to            time.Time
	held, running, room int
}

func (a truth) same(b truth) bool {
	return a.held == b.held && a.running == b.running && a.room == b.room
}

const privateEndpoints = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dllm-jp-31-13b-00001-private"

// askKnative asks the activators and the queue-proxies by the lab's control socket, and
// the API server for the endpoints of the article's service.
func askKnative(lab *http.Client, api *labtest.API) (truth, error) {
	t := truth{from: time.Now()}
	var told struct{ Activators, QueueProxies float64 }
	resp, err := lab.Get("http://lab/knative")
	if err != nil {
		return t, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		return t, err
	}
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Conditions struct{ Ready bool }
			}
		}
	}
	if err := api.Try("GET", privateEndpoints, nil, &slices); err != nil {
		return t, err
	}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready {
				t.room++
			}
		}
	}
	t.to = time.Now()
	t.held, t.running = int(math.Round(told.Activators)), int(math.Round(told.QueueProxies))
	return t, nil
}

const (
	// atRest is how long nothing may have changed before a sample: it is up to
	// a second old, and so are the averages over a second that it is made of.
	atRest = 2500 * time.Millisecond
	// heldAtRest is the same for what the activator reports, which is as old as its
	// last report when it is asked.
	heldAtRest = 4500 * time.Millisecond
	// lookEach is how often Knative is asked; what it says twice is taken to
	// hold between, when that is no more than lookGap.
	lookEach = 200 * time.Millisecond
	lookGap  = time.Second
)

// restingAt gives what held from rest before a moment until after it, and
// whether it was the same all that time.
func restingAt(all []truth, at time.Time, rest time.Duration) (truth, bool) {
	var now truth
	for i, t := range all {
		if t.to.Before(at.Add(-rest)) {
			now = t
			continue
		}
		if i == 0 || !t.same(now) || t.to.Sub(all[i-1].from) > lookGap {
			return truth{}, false
		}
		if t.from.After(at) {
			return now, true
		}
	}
	return truth{}, false
}

// witness asks Knative all the time.
type witness struct {
	mu  sync.Mutex
	all []truth
}

func (w *witness) watch(ctx context.Context, lab *http.Client, api *labtest.API) {
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for ctx.Err() == nil {
		if one, err := askKnative(lab, api); err == nil {
			w.mu.Lock()
			w.all = append(w.all, one)
			w.mu.Unlock()
		}
		<-tick.C
	}
}

// looks returns all answers up to now.
func (w *witness) looks() []truth {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// shown is the gauge on the screen.
type shown struct{ served, room, queued, stalled, dead int }

func (s shown) inFlight() int { return s.served + s.queued + s.stalled + s.dead }

// An estimate, which has a ~, does not match.
var shownGauge = regexp.MustCompile(`serving (\d+) of (\d+) .*queued (\d+) .*stalled (\d+) .*dead nodes (\d+) `)

func readGauge(screen string) (s shown, ok bool) {
	m := shownGauge.FindStringSubmatch(screen)
	if m == nil {
		return s, false
	}
	for i, to := range []*int{&s.served, &s.room, &s.queued, &s.stalled, &s.dead} {
		*to, _ = strconv.Atoi(m[i+1])
	}
	return s, true
}

// moment is one at which the screen must show what Knative reports.
type moment struct {
	what string
	want shown
}

// compare waits until the screen and Knative show the moment's requests and slots, and
// neither has changed for as long as a number on the screen may be old; then each number
// must be the other's. It gives up after four minutes.
func (w *witness) compare(x *terminal, m moment) {
	x.t.Helper()
	var last shown
	var since time.Time
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(lookEach) {
		screen := x.screen()
		now, ok := readGauge(screen)
		if !ok || now != last {
			last, since = now, time.Now()
		}
		all := w.looks()
		if len(all) > 0 && ok && now.inFlight() == m.want.inFlight() && time.Since(since) >= atRest {
			at := all[len(all)-1].from.Add(-time.Nanosecond) // that answer came after it
			truth, resting := restingAt(all, at, atRest)
			if resting && truth.held == m.want.inFlight() && truth.room == m.want.room {
				if now.served != truth.running || now.inFlight()-now.served != truth.held-truth.running || now.room != truth.room || now != m.want {
					x.t.Errorf("%s: the screen shows %+v, Knative %+v, wanted %+v\n%s", m.what, now, truth, m.want, screen)
				}
				x.t.Logf("%s: %+v on the screen, %d held and %d worked on in Knative, %d slots", m.what, now, truth.held, truth.running, truth.room)
				return
			}
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%s: never at rest; the screen shows %+v, Knative %+v, wanted %+v\n%s", m.what, now, all[max(0, len(all)-3):], m.want, screen)
		}
	}
}

// send sends a burst of n requests by keyboard.
func (x *terminal) send(n int) {
	x.t.Helper()
	x.keys("n")
	x.waitFor("the prompt for a number", time.Minute, `requests at once`)
	x.keys("C-u")
	x.keys(strings.Split(fmt.Sprint(n), "")...)
	x.keys("Enter")
	x.waitFor(fmt.Sprintf("a burst of %d", n), time.Minute, fmt.Sprintf(`burst of %d\b`, n))
	x.keys("4", "b")
}

// cancel cancels the requests in flight by keyboard.
func (x *terminal) cancel() {
	x.t.Helper()
	x.keys("4", "c")
	x.waitFor("the way to cancel", time.Minute, `c again cancels`)
	x.keys("c")
}

// TestTheScreenShowsTheServersCounts is the mdx experiment with answers that take
// minutes, so that each moment of it lasts until it has been looked at: what the screen
// shows is what Knative's own activator and queue-proxies report then. So is each sample
// of the record that was taken at rest.
func TestTheScreenShowsTheServersCounts(t *testing.T) {
	testenv.Long(t, 80)
	t.Parallel()
	l := labtest.Start(t, "mdx")
	state := t.TempDir()
	config := l.ConfigWith(func(c map[string]any) {
		c["state"] = state
		c["load"].(map[string]any)["max_tokens"] = 4000 // ten minutes
	})
	var w witness
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { w.watch(ctx, l.Control(), l.API()) })
	defer wg.Wait()
	defer stop()
	x := openTerminal(t, 120, 36, nil, labtest.Program(t, "lightsout")+" --config "+config+" --kubeconfig "+l.Kubeconfig()+"; echo exit $?; exec sleep 600")
	const long = 3 * time.Minute
	x.waitFor("16 pods Running", long, `16/16\s+Running`, ready("5"))
	x.keys("t")
	x.answer("Start a trial?", "By keyboard")

	w.compare(x, moment{"nothing sent", shown{room: 16}})
	x.send(5)
	w.compare(x, moment{"5 sent", shown{served: 5, room: 16}})
	x.send(11)
	w.compare(x, moment{"11 more", shown{served: 16, room: 16}})
	x.send(4)
	w.compare(x, moment{"4 more", shown{served: 16, room: 16, queued: 4}})
	x.cancel()
	w.compare(x, moment{"all cancelled", shown{room: 16}})
	x.send(16)
	w.compare(x, moment{"16 sent", shown{served: 16, room: 16}})

	l.Post("/machines/kube-node3/off")
	l.Post("/machines/kube-node4/off")
	x.waitFor("the deployment without two nodes", long, `8/16\s+Scaling`, ready("3"))
	out := time.Now()
	w.compare(x, moment{"two nodes dead under 16", shown{served: 8, room: 8, dead: 8}})
	x.cancel()
	x.waitFor("none in flight", long, `serving 0 of 8`)
	// For some seconds after the endpoints are out, Knative's activator still sends to the
	// dead pods.
	until(t, "20 s since the endpoints are out", func() bool { return time.Since(out) > 20*time.Second })
	x.send(12)
	w.compare(x, moment{"12 sent, two nodes off", shown{served: 8, room: 8, queued: 4}})

	l.Post("/machines/kube-node3/on")
	l.Post("/machines/kube-node4/on")
	x.waitFor("the deployment with all nodes", long, `16/16\s+Running`, ready("5"))
	w.compare(x, moment{"two nodes on again", shown{served: 12, room: 16}})
	x.send(6)
	w.compare(x, moment{"6 more", shown{served: 16, room: 16, queued: 2}})
	x.cancel()
	x.waitFor("a balanced account", long, `54 scheduled in all = 0 ok \+ 0 failed \+ 54 cancelled`)
	x.keys("t")
	x.answer("End the trial by-keyboard?", "End now and give the verdict")
	x.waitFor("the verdict", long, `NOT OBSERVED`)
	x.keys("q")
	x.waitFor("the shell again", long, `exit \d`)
	stop()
	wg.Wait()
	w.compareSamples(t, state)
}

// compareSamples compares the samples of a trial's record that were taken at rest.
func (w *witness) compareSamples(t *testing.T, state string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(state, "*", "trials", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("the trials are %v, %v", dirs, err)
	}
	r, err := record.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	var changes []time.Time // when requests were sent or ended
	if _, err := record.EachRequest(os.DirFS(dirs[0]), func(_ int, q *loadgen.Record) error {
		changes = append(changes, q.Scheduled, q.End)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	compared, held := map[string]int{}, 0
	for _, x := range r.Samples {
		if x.Load == nil || x.Load.Run == nil || x.Load.Run.Gauge.Outstanding == 0 {
			continue
		}
		g := x.Load.Run.Gauge
		rests := func(rest time.Duration) (truth, bool) {
			// A request that has just been sent may not have reached a server yet, and a
			// server still counts one that has just ended.
			quiet := !slices.ContainsFunc(changes, func(at time.Time) bool { return at.After(g.At.Add(-rest)) && !at.After(g.At) })
			want, resting := restingAt(w.looks(), g.At, rest)
			return want, quiet && resting
		}
		want, resting := rests(atRest)
		if !resting || g.Basis != loadgen.BasisMeasured { // on a slow machine an answer comes too late, and the sample says so
			continue
		}
		compared[fmt.Sprintf("%d of %d", want.running, want.held)]++
		if g.Served != want.running || g.Queued+g.Stalled+g.OnDead+g.Unknown != want.held-want.running || g.NoAnswer != 0 || g.Disagreement != "" {
			t.Errorf("%s: served %d, queued %d, stalled %d, on dead nodes %d, %s, %d without answer %s; the servers held %+v",
				g.At.Format(time.StampMilli), g.Served, g.Queued, g.Stalled, g.OnDead, g.Basis, g.NoAnswer, g.Disagreement, want)
		}
		if want, resting := rests(heldAtRest); resting && want.held > 0 {
			held++
			if len(g.Reported) != 1 || g.Reported[0].Held == nil || *g.Reported[0].Held != want.held {
				t.Errorf("%s: the activator holds %d, and the record shows %+v", g.At.Format(time.StampMilli), want.held, g.Reported)
			}
		}
	}
	t.Logf("samples at rest, worked on of held: %v; %d with the activator's own number", compared, held)
	if len(compared) < 2 || held == 0 {
		t.Error("too few samples were taken at rest")
	}
}
