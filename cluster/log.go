package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LogOptions choose a container's log.
type LogOptions struct {
	Pod       Key
	Container string
	// Previous: of the container's instance before the one that runs.
	Previous bool
	// Lines is how many of the last lines to read.
	Lines int
	// Patient: nobody waits for the beginning of the log, so a container may take any
	// time to write its first line.
	Patient bool
}

// logAnswer bounds how long a log may take to begin: a node that is off does
// not answer at all.
const logAnswer = 15 * time.Second

var errLogTimeout = errors.New("the log did not start in time")

// PodLog opens a container's log and follows it until ctx ends; the log of a previous
// instance ends by itself. The text is as the container wrote it: clean it before
// showing it.
func (c *Client) PodLog(ctx context.Context, o LogOptions) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(logAnswer, func() {
		if !o.Patient {
			cancel(errLogTimeout)
		}
	})
	request := c.get().Namespace(o.Pod.Namespace).Resource("pods").Name(o.Pod.Name).SubResource("log").
		Param("container", o.Container).Param("tailLines", strconv.Itoa(o.Lines)).
		Param("previous", strconv.FormatBool(o.Previous)).Param("follow", strconv.FormatBool(!o.Previous))
	body, err := request.SetHeader("Accept", "*/*").Stream(ctx)
	if err == nil && (late.Stop() || o.Patient) {
		return &logBody{body, cancel}, nil
	}
	cause := context.Cause(ctx)
	if err == nil {
		body.Close()
	}
	cancel(nil)
	what := "the log of container " + o.Container
	switch {
	case apierrors.IsBadRequest(err): // waiting to start; no previous instance
		return nil, sentence(what+" can't be read: "+err.Error(), err)
	case apierrors.IsInternalError(err), errors.Is(cause, errLogTimeout): // the kubelet can't be reached
		return nil, sentence(what+" can't be read: its kubelet does not answer; is its node off?", cmp.Or(err, cause))
	}
	return nil, sentence(what+" can't be read: "+c.why(ctx, err, "get on pods/log", "the pod is no longer there, or its kubelet keeps no logs"), err)
}

// logBody ends the connection's context with the reading.
type logBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *logBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}
