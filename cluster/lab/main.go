// Command lightsout-lab runs a cluster for demos and tests: a real control plane with
// simulated machines. When it is ready it prints one line of JSON with the paths of its
// config, kubeconfig and control socket.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"lightsout/cluster/lab/assembly"
	"lightsout/cluster/lab/controlplane"
	"lightsout/cluster/lab/crowd"
	"lightsout/cluster/lab/scenario"
)

func main() {
	controlplane.Main() // a component's process ends here
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lightsout-lab:", err)
		os.Exit(1)
	}
}

func run() error {
	var cfg assembly.Config
	flags := flag.NewFlagSet("lightsout-lab", flag.ContinueOnError)
	flags.StringVar(&cfg.Scenario, "scenario", "mdx", "what to start: "+strings.Join(scenario.Names(), " or "))
	pace := flags.String("pace", string(scenario.Fast), "real (upstream's timings) or fast (shortened ones)")
	flags.StringVar(&cfg.Dir, "dir", "", "make the lab's folder here (default: the system's folder for temporary files)")
	flags.BoolVar(&cfg.Keep, "keep", false, "leave the lab's folder, with all logs, behind")
	size := flags.String("crowd", "", "start no scenario but an API server with nothing behind it, filled to the size S, M, L or XL")
	leash := flags.Bool("stdin-leash", false, "end when standard input or the parent process ends")
	quiet := flags.Bool("quiet", false, "no word on standard error about how the start goes")
	if err := flags.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	cfg.Pace = scenario.Pace(*pace)
	if !*quiet {
		cfg.Progress = os.Stderr
	}
	// What client-go has to say about connections that power cuts freeze is
	// of no interest on anybody's screen.
	klog.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	if *leash {
		var release context.CancelFunc
		ctx, release = context.WithCancel(ctx)
		defer release()
		go hold(release)
	}
	if *size != "" {
		return runCrowd(ctx, cfg.Dir, *size)
	}
	lab, err := assembly.Start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before it was ready
		}
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(lab.Info()); err != nil {
		return errors.Join(fmt.Errorf("print the ready line: %w", err), lab.Close())
	}
	<-ctx.Done()
	return lab.Close()
}

// runCrowd runs a filled API server until ctx ends.
func runCrowd(ctx context.Context, dir, name string) error {
	size, ok := crowd.Sizes[name]
	if !ok {
		return fmt.Errorf("there is no size %q: there are S, M, L and XL", name)
	}
	err := crowd.Run(ctx, dir, size, func(info crowd.Info) error { return json.NewEncoder(os.Stdout).Encode(info) })
	if ctx.Err() != nil {
		return nil // it was told to end before it was ready
	}
	return err
}

// hold calls release when standard input or the parent ends.
func hold(release func()) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		release()
	}()
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	release()
}
