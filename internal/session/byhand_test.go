package session_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/recorder"
	"lightsout/internal/session"
	"lightsout/internal/view"
	"lightsout/loadgen"
	"lightsout/power"
)

// An operator switches a machine off on the screen: the outage has one record, whose summary counts the
// requests that it has, and whose report names the node.
func TestAnOutageByHandLeavesOneRecord(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		returns bool // the operator powers it on again
		left    []string
	}{"powered on again": {true, nil}, "left off": {false, []string{"kube-node4"}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, records := startRecorded(t)
				x.Send(view.StartLoad{Spec: loadgen.Spec{Shape: loadgen.Rate, PerSecond: 2}})
				time.Sleep(10 * time.Second)
				x.press(power.ActionShutdown, view.ChoiceYes, "kube-node4")
				x.off("kube-node4")
				time.Sleep(20 * time.Second)
				if tc.returns {
					x.press(power.ActionOn, view.ChoiceYes, "kube-node4")
				}
				time.Sleep(time.Minute)
				x.stop()
				x.waitEnd()
				dirs, err := filepath.Glob(filepath.Join(records, "*Z*"))
				if err != nil || len(dirs) != 1 {
					t.Fatalf("records: %q, %v", dirs, err)
				}
				r, err := record.Open(dirs[0])
				if err != nil || r.Summary == nil || len(r.Summary.Load) != 1 || !slices.Equal(r.Summary.LeftOff, tc.left) {
					t.Fatalf("the summary: %+v, %v", r.Summary, err)
				}
				if n := r.Summary.Nodes; len(n) != 1 || n[0].Name != "kube-node4" || n[0].Machine == "" || !strings.HasPrefix(n[0].OffProof, "proven") || tc.returns != strings.HasPrefix(n[0].OnProof, "proven") {
					t.Errorf("the machines that were switched: %+v", n)
				}
				seen := slices.IndexFunc(r.Events, func(e view.Event) bool { return e.Code == view.CodeMachineState && e.To == power.Off.String() })
				off := slices.IndexFunc(r.Summary.Phases, func(p view.Phase) bool { return p.Name == view.PhaseOff && p.Observed != nil })
				if seen < 0 || off < 0 || *r.Summary.Phases[off].Observed != r.Events[seen].At.Sub(r.Summary.Zero).Seconds() {
					t.Errorf("the machine was seen off by event %d, and the phase is %d of %+v", seen, off, r.Summary.Phases)
				}
				var had loadgen.Totals
				_, err = record.EachRequest(os.DirFS(dirs[0]), func(_ int, q *loadgen.Record) error {
					if !q.End.Before(r.Summary.Zero) {
						had.Count(*q)
					}
					return nil
				})
				l := r.Summary.Load[0]
				if err != nil || l.Failed == 0 || tc.returns != (l.OK > 0) || l.OK != had.OK || l.Failed != had.FailedSum() || l.Scheduled-l.InFlight-l.Cancelled != had.OK+had.FailedSum() {
					t.Errorf("the summary counts %+v, requests.jsonl has %+v: %v", l, had, err)
				}
				text, err := os.ReadFile(filepath.Join(dirs[0], record.ReportFile))
				for _, want := range []string{"kube-node4 was shut down at ", fmt.Sprintf("%d of ", l.Failed), " requests of lightsout to ", "| kube-node4 | shut down by lightsout |"} {
					if !strings.Contains(string(text), want) {
						t.Errorf("the report lacks %q: %v\n%s", want, err, text)
					}
				}
			})
		})
	}
}

// startRecorded runs a session whose guest is a recorder, in virtual time. Its requests are refused while a
// machine is off. dir is the folder of the records.
func startRecorded(t *testing.T) (x *bench, dir string) {
	t.Helper()
	w := &world{board: newBoard(workers...), s: mdxSnapshot(), changed: make(chan struct{}, 100), down: map[string]bool{}, rec: newRecordWriter(t, "")}
	dir = filepath.Join(t.TempDir(), recorder.Folder)
	load := func(*session.Target, *session.RecordWriter) *loadgen.Generator {
		g, err := loadgen.New(loadgen.Options{Target: loadgen.Target{URL: "http://10.0.0.9/"}, Record: w.rec.Request, Dial: w.dial})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	guest := func(s *session.Session, g *loadgen.Generator) session.Guest {
		return recorder.New(s.Controls(), recorder.Options{
			Cluster: "mdx", Dir: dir, Timeline: w.rec.Timeline(), Load: g, Past: time.Minute, PastBytes: 1 << 20, Steady: 10 * time.Second, KeepBytes: 1 << 30,
			Print: func(string) {}, Trial: func() bool { return false }, Now: time.Now,
		})
	}
	x = run(t, t.TempDir(), w.board, w, w, session.Options{RecordWriter: w.rec, RecordsOutages: true}, load, guest)
	return x, dir
}

// dial leads to a server that answers one request, unless a machine is off.
func (w *world) dial(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, off := range w.down {
		if off {
			return nil, syscall.ECONNREFUSED
		}
	}
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
			_, _ = there.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
		}
	}()
	return here, nil
}
