package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"lightsout/cluster"
	"lightsout/internal/session"
	"lightsout/internal/view"
)

func TestARestartThatIsForbiddenIsNotOffered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		may   bool
		err   error
		asked bool
	}{"allowed": {true, nil, true}, "forbidden": {false, nil, false}, "no answer": {false, errors.New("no answer"), true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := startEmpty(t, session.Options{
				Rollout: func(context.Context, cluster.Key) error { return nil },
				MayRollout: func(_ context.Context, namespace string) (bool, error) {
					return tc.may && namespace == "default", tc.err
				},
			})
			x.frame("the nodes", func(f *view.Frame) bool { return f.Snapshot != nil })
			x.Send(view.AskRollout{Deployment: cluster.Key{Namespace: "default", Name: "llm"}})
			x.frame("the question, or the reason why there is none", func(f *view.Frame) bool {
				refused := strings.Contains(f.Notice.Text, "needs get and patch on deployments")
				if refused && f.Question != nil {
					t.Error("a restart that is forbidden is offered")
				}
				return tc.asked && f.Question != nil || !tc.asked && refused
			})
		})
	}
}
