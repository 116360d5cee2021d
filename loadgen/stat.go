package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// QueueProxyMetrics is what a pod's queue-proxy reports to Knative's autoscaler, always on
// (knative.dev/serving pkg/networking AutoscalingQueueMetricsPort).
func QueueProxyMetrics() Metrics { return Metrics{Name: "queue-proxy", Port: 9090, load: decodeStat} }

// SlotsMetrics is the /slots of a llama.cpp server.
func SlotsMetrics(port int32) Metrics {
	return Metrics{Name: "llama.cpp", Port: port, Path: "slots", load: decodeSlots}
}

// decodeStat reads a queue-proxy's Stat (knative.dev/serving
// pkg/autoscaler/metrics/stat.proto) and returns average_concurrent_requests,
// field 2: the requests at this pod, working or waiting there, averaged over
// the last second. Requests that came through an activator are part of it.
func decodeStat(b []byte) (float64, error) {
	const fieldAverage = 2
	average, named := 0.0, false
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return 0, fmt.Errorf("not a queue-proxy's Stat: %w", protowire.ParseError(n))
		}
		if num == fieldAverage && typ == protowire.Fixed64Type {
			bits, _ := protowire.ConsumeFixed64(b[n-8:])
			average = math.Float64frombits(bits)
		}
		// Field 1 is the pod's name, which is always set: it distinguishes a Stat from
		// an empty body, because proto3 leaves out an average of 0.
		named = named || num == 1 && typ == protowire.BytesType
		b = b[n:]
	}
	if !named {
		return 0, errors.New("not a queue-proxy's Stat: it names no pod")
	}
	return average, numberOfRequests(average)
}

// decodeSlots counts the busy slots in a llama.cpp server's /slots.
func decodeSlots(b []byte) (float64, error) {
	var slots []struct {
		Busy *bool `json:"is_processing"`
	}
	if err := json.Unmarshal(b, &slots); err != nil {
		return 0, fmt.Errorf("not a llama.cpp server's slots: %w", err)
	}
	busy := 0
	for _, s := range slots {
		if s.Busy == nil {
			return 0, errors.New("not a llama.cpp server's slots: is_processing is missing")
		}
		if *s.Busy {
			busy++
		}
	}
	return float64(busy), nil
}
