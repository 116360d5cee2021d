package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lightsout/internal/view"
)

// missing says why nodes can't be cordoned here; nil when they can.
func (c *cordons) missing() error {
	switch {
	case c.readOnly:
		return errors.New("read-only: nothing can be cordoned")
	case c.drainer == nil || c.journal == nil:
		return errors.New("nodes can't be cordoned here")
	}
	return nil
}

// notDone says why a step is not carried out, or, in a dry run, what it does not
// do; nil when it is carried out.
func (c *cordons) notDone(nodes []string, what string) Progress {
	if err := c.missing(); err != nil {
		return failNow(err)
	}
	if !c.dryRun {
		return nil
	}
	for _, n := range nodes {
		c.say(view.Event{Lane: view.LanePower, Subject: n, Text: "dry run: " + what})
	}
	return func(time.Time) (bool, string, error) { return true, "dry run", nil }
}

// cordonAll cordons nodes side by side.
func (c *cordons) cordonAll(nodes []string) Progress {
	if p := c.notDone(nodes, "not cordoned"); p != nil {
		return p
	}
	left := len(nodes)
	var errs []error
	for _, n := range nodes {
		c.keep(n)
		async(c.loop, planTimeout, func(ctx context.Context) cordoning { return c.cordon(ctx, n, "by a step of a trial") }, func(r cordoning) {
			left--
			c.cordoned(n, r)
			if r.err != nil {
				errs = append(errs, r.err)
			}
		})
	}
	return func(time.Time) (bool, string, error) {
		return left == 0, "cordoning " + strings.Join(nodes, ", "), errors.Join(errs...)
	}
}

// uncordonAll uncordons the nodes that lightsout has cordoned itself.
func (c *cordons) uncordonAll(nodes []string) Progress {
	if p := c.notDone(nodes, "not uncordoned"); p != nil {
		return p
	}
	for _, n := range nodes {
		if c.ours[n] == nil {
			c.say(view.Event{Lane: view.LanePower, Subject: n, Text: "not uncordoned: it is not lightsout that has cordoned it"})
		}
	}
	c.release(nodes...)
	deadline := c.now().Add(time.Minute)
	return func(now time.Time) (bool, string, error) {
		for _, n := range nodes {
			o := c.ours[n]
			switch {
			case o == nil:
			case now.After(deadline):
				return true, "", fmt.Errorf("%s is not uncordoned: %s", n, o.failed)
			default:
				return false, "uncordoning " + n, nil
			}
		}
		return true, "", nil
	}
}

// uncordonOwn uncordons what this session has cordoned, but for machines that are
// left off, and waits until that is done or has failed.
func (c *cordons) uncordonOwn() Progress {
	var nodes []string
	deadline := c.now().Add(2 * planTimeout)
	return func(now time.Time) (bool, string, error) {
		if nodes == nil {
			nodes = []string{}
			for _, n := range c.names() {
				if _, off := c.machines.leftOff[n]; !off && c.ours[n].session {
					nodes = append(nodes, n)
				}
			}
			c.release(nodes...)
		}
		for _, n := range nodes {
			if o := c.ours[n]; o != nil && o.failed == "" && now.Before(deadline) {
				return false, "uncordoning " + n, nil
			}
		}
		return true, "", nil
	}
}
