package cli

import (
	"testing"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// Early versions counted no failures after the detection although the load had sent nothing
// after it: that is no difference, but nobody checked it.
func TestLoadVerifyNamesACountAfterTheDetectionWithoutRequests(t *testing.T) {
	t.Parallel()
	detected, zero := 45.0, time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	sum := &record.Summary{Zero: zero, Phases: []view.Phase{{Name: view.PhaseDetected, Subject: "k8s2", Observed: &detected}}}
	for sent, unchecked := range map[float64]int{10: 1, 50: 0} {
		v := &verification{recount: &recount{}}
		v.afterDetection("load step \"a\"", sum, 0, &recountedRun{lastSent: zero.Add(time.Duration(sent * float64(time.Second)))})
		if len(v.differences) > 0 || len(v.unchecked) != unchecked {
			t.Errorf("sent at %v s: differences %q, not checked %q", sent, v.differences, v.unchecked)
		}
	}
}
