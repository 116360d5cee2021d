package cli

import (
	"context"
	"errors"

	"lightsout/internal/config"
	"lightsout/internal/recorder/reporting"
)

// recording checks what the recorder needs beside the cluster. It sends no request and
// no notice.
func (c *checkup) recording(ctx context.Context) {
	set := recorderSettings(c.config, config.Recorder{})
	c.config.Load = probed(c.config, set)
	c.load(ctx)
	c.add("records", c.folder("without it the recorder ends at once"))
	c.hooks(ctx, set)
}

// hooks checks what reports outages.
func (c *checkup) hooks(ctx context.Context, set config.Recorder) {
	source, err := set.Webhook.Source()
	if err != nil {
		c.add("hooks", missing("webhook", err, "correct recorder.webhook in lightsout.yaml"))
		return
	}
	if len(set.Command) == 0 && source == nil {
		c.add("hooks", note("hooks", "the recorder reports outages to nobody", "set recorder.command or recorder.webhook in lightsout.yaml"))
		return
	}
	h := reporting.Hooks{Command: set.Command, URL: source}
	command, webhook := h.Reach(ctx)
	var rows []checkRow
	if len(set.Command) > 0 {
		rows = append(rows, tried("command", command, "correct recorder.command, or make the program executable", "%s is a program; lightsout did not run it", set.Command[0]))
	}
	if source != nil && !errors.Is(webhook, context.Canceled) {
		rows = append(rows, tried("webhook", webhook, "check its address, and that its host can be reached from here", "its host answers; lightsout posted nothing"))
	}
	c.add("hooks", rows...)
}
