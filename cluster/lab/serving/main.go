package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"knative.dev/pkg/signals"
)

var components = map[string]func(context.Context, *ports) error{
	"activator":   runActivator,
	"autoscaler":  runAutoscaler,
	"controller":  runController,
	"queue-proxy": runQueueProxy,
	"webhook":     runWebhook,
}

func main() {
	if len(os.Args) != 2 || components[os.Args[1]] == nil {
		var names []string
		for name := range components {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintln(os.Stderr, "usage: serving "+strings.Join(names, "|"))
		os.Exit(2)
	}
	go func() { // the lab or the machine has gone
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := components[os.Args[1]](signals.NewContext(), newPorts()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
