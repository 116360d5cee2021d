package knative

import (
	"math"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Stat is what a queue-proxy tells of itself on port 9090: serving's message
// metrics.Stat (pkg/autoscaler/metrics/stat.proto).
type Stat struct {
	PodName string
	// AverageConcurrentRequests is the average number of requests in the
	// queue-proxy, running and waiting, over the last whole second.
	AverageConcurrentRequests float64
	// AverageProxiedConcurrentRequests is the part that came through the activator.
	AverageProxiedConcurrentRequests float64
	// RequestCount and ProxiedRequestCount are the requests that began in that second.
	RequestCount, ProxiedRequestCount float64
	// ProcessUptime is in seconds.
	ProcessUptime float64
	// Timestamp is not set by queue-proxies.
	Timestamp int64
}

// Marshal encodes s as protobuf. Fields that are zero are left out.
func (s Stat) Marshal() []byte {
	var b []byte
	if s.PodName != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, s.PodName)
	}
	for i, v := range []float64{
		s.AverageConcurrentRequests, s.AverageProxiedConcurrentRequests,
		s.RequestCount, s.ProxiedRequestCount, s.ProcessUptime,
	} {
		if v != 0 {
			b = protowire.AppendTag(b, protowire.Number(i+2), protowire.Fixed64Type)
			b = protowire.AppendFixed64(b, math.Float64bits(v))
		}
	}
	if s.Timestamp != 0 {
		b = protowire.AppendTag(b, 7, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(s.Timestamp))
	}
	return b
}

// period is how often a queue-proxy recomputes its Stat.
const period = time.Second

// meter counts requests over periods. A queue-proxy has a ticker; here the
// periods are closed when somebody asks or a request comes or goes, with the
// same result and without waking up an idle lab.
type meter struct {
	pod   string
	start time.Time

	mu   sync.Mutex
	ends time.Time // of the current period
	at   time.Time // up to when area is reckoned
	now  level     // concurrency at this moment
	area level     // concurrency × seconds in the current period
	new  level     // requests that began in it
	last Stat      // of the last whole period
}

// level is a quantity for all requests, and for those through the activator.
type level struct{ all, proxied float64 }

func newMeter(pod string, now time.Time) *meter {
	return &meter{pod: pod, start: now, at: now, ends: now.Add(period), last: Stat{PodName: pod}}
}

// advance closes the periods that have ended by now. It is called with mu held.
func (m *meter) advance(now time.Time) {
	for !now.Before(m.ends) {
		m.reckon(m.ends)
		m.last = Stat{
			PodName:                          m.pod,
			AverageConcurrentRequests:        m.area.all / period.Seconds(),
			AverageProxiedConcurrentRequests: m.area.proxied / period.Seconds(),
			RequestCount:                     m.new.all,
			ProxiedRequestCount:              m.new.proxied,
			ProcessUptime:                    m.ends.Sub(m.start).Seconds(),
		}
		m.area, m.new = level{}, level{}
		// After long rest only the last whole period matters.
		if idle := now.Sub(m.ends) / period; idle > 1 {
			m.ends = m.ends.Add((idle - 1) * period)
			m.at = m.ends
		}
		m.ends = m.ends.Add(period)
	}
	m.reckon(now)
}

func (m *meter) reckon(to time.Time) {
	if seconds := to.Sub(m.at).Seconds(); seconds > 0 {
		m.area.all += m.now.all * seconds
		m.area.proxied += m.now.proxied * seconds
		m.at = to
	}
}

// enter counts a request in.
func (m *meter) enter(now time.Time, proxied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(now)
	m.now.all++
	m.new.all++
	if proxied {
		m.now.proxied++
		m.new.proxied++
	}
}

// leave counts a request out.
func (m *meter) leave(now time.Time, proxied bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(now)
	m.now.all--
	if proxied {
		m.now.proxied--
	}
}

// stat returns the Stat of the last whole period.
func (m *meter) stat(now time.Time) Stat {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(now)
	return m.last
}
