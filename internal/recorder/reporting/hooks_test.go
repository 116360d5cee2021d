package reporting

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lightsout/internal/recorder"
)

// A webhook that hangs delays no notice to others, and no error quotes its address.
func TestAHookThatHangsDelaysNobody(t *testing.T) {
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer web.Close()
	defer close(release)
	failed := make(chan string, 100)
	h := &Hooks{URL: func() (string, error) { return web.URL + "/s3cret", nil }, Fail: func(s string) { failed <- s }}
	h.Start()
	for range hookQueue + 2 { // one is under way
		h.Notify(recorder.Notice{})
	}
	if s := <-failed; !strings.Contains(s, "dropped") {
		t.Error(s)
	}
	h.Stop(0)
}

func TestNoErrorOfAWebhookQuotesItsAddress(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	for _, address := range []string{web.URL + "/s3cret", "http://127.0.0.1:1/s3cret", ":s3cret", "s3cret\n"} {
		h := &Hooks{URL: func() (string, error) { return address, nil }}
		if err := h.post(t.Context(), recorder.Notice{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	web.Close()
	h := &Hooks{URL: func() (string, error) { return "", errors.New("it is missing") }}
	if err := h.post(t.Context(), recorder.Notice{}); err == nil {
		t.Error("no error")
	}
}

func TestANoticeInAlertmanagersFormat(t *testing.T) {
	zero := time.Date(2026, 3, 4, 14, 3, 7, 0, time.UTC)
	h := &Hooks{Format: FormatAlertmanager}
	b, err := json.Marshal(h.body(recorder.Notice{State: recorder.StateEnded, Sentence: "kube-node3 fell silent.", Zero: zero, Ended: zero.Add(time.Minute)}))
	var alerts []struct {
		Labels, Annotations map[string]string
		StartsAt, EndsAt    time.Time
	}
	if err = errors.Join(err, json.Unmarshal(b, &alerts)); err != nil || len(alerts) != 1 {
		t.Fatal(err, string(b))
	}
	a := alerts[0]
	if a.Labels["alertname"] == "" || a.Annotations["summary"] != "kube-node3 fell silent." || !a.StartsAt.Equal(zero) || !a.EndsAt.Equal(zero.Add(time.Minute)) {
		t.Errorf("%+v", a)
	}
}

// A webhook that redirects has not taken the notice: the page behind the redirect may answer
// anything, and must not learn the webhook's address.
func TestAWebhookFollowsNoRedirect(t *testing.T) {
	var elsewhere atomic.Int64
	login := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer login.Close()
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		web := httptest.NewServer(http.RedirectHandler(login.URL, code))
		h := &Hooks{URL: func() (string, error) { return web.URL, nil }}
		if err := h.post(t.Context(), recorder.Notice{State: recorder.StateBegan}); err == nil || elsewhere.Load() > 0 {
			t.Errorf("%d: %v, %d requests elsewhere", code, err, elsewhere.Load())
		}
		web.Close()
	}
}

// A command that leaves something running has taken its notice.
func TestACommandThatLeavesAProcessHasTakenItsNotice(t *testing.T) {
	t.Parallel()
	h := &Hooks{Command: []string{"sh", "-c", "sleep 3 &"}, Fail: func(line string) { t.Error(line) }}
	if err := h.run(t.Context(), recorder.Notice{}); err != nil {
		t.Error(err)
	}
}

// lightsout prints what a command prints, in one harmless line of bounded length.
func TestACommandsOutputIsPrintedHarmless(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var printed []string
	h := &Hooks{Command: []string{"sh", "-c", `printf '\033]0;title\007\033[31mred\n'; head -c 1000000 /dev/zero | tr '\0' x`}, Fail: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		printed = append(printed, line)
	}}
	if err := h.run(t.Context(), recorder.Notice{}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(printed) != 1 || !strings.HasPrefix(printed[0], "recorder.command printed: ") || !strings.Contains(printed[0], "red") ||
		strings.ContainsAny(printed[0], "\x1b\x07\n") || len(printed[0]) > 2*hookPrinted {
		t.Errorf("%d lines: %.200q", len(printed), printed)
	}
}
