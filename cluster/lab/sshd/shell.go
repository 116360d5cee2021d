package sshd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Shell imitates the commands that are sent to a node: sudo with shutdown and
// poweroff, and a few that tell one machine from another. Its Run is a
// Config's Run.
type Shell struct {
	Hostname string
	User     string
	BootID   func() string
	// Shutdown begins an orderly shutdown; nil says that this machine cannot
	// be shut down from here (the bastion).
	Shutdown func()
	// Sudo says whether and how sudo fails now: the message that it prints,
	// "" when it works; nil always works.
	Sudo func() string
}

// Run runs one command line: simple commands joined by ";" or "&&", without
// quotes, variables or redirections. It returns the last exit status, 127 for
// a command that there isn't.
func (s *Shell) Run(ctx context.Context, line string, _ io.Reader, stdout, stderr io.Writer) int {
	if strings.TrimSpace(line) == "" {
		fmt.Fprintf(stderr, "%s has no login shell: give a command\n", s.Hostname)
		return 1
	}
	status := 0
	for part := range strings.SplitSeq(line, ";") {
		for command := range strings.SplitSeq(part, "&&") {
			if words := strings.Fields(command); len(words) > 0 {
				status = s.command(words, false, stdout, stderr)
			}
			if status != 0 {
				break
			}
		}
	}
	return status
}

// tools are the commands of which sudo -l and command -v know the path.
var tools = map[string]string{
	"shutdown": "/usr/sbin/shutdown", "poweroff": "/usr/sbin/poweroff", "systemctl": "/usr/bin/systemctl",
	"true": "/usr/bin/true", "hostname": "/usr/bin/hostname", "cat": "/usr/bin/cat", "date": "/usr/bin/date", "sudo": "/usr/bin/sudo",
}

func (s *Shell) command(words []string, root bool, stdout, stderr io.Writer) int {
	name := words[0][strings.LastIndex(words[0], "/")+1:]
	args := words[1:]
	switch name {
	case "env": // LC_ALL=C and the like change nothing here
		for len(args) > 0 && strings.Contains(args[0], "=") {
			args = args[1:]
		}
		return s.command(append(args, "true")[:max(len(args), 1)], root, stdout, stderr)
	case "true", ":":
		return 0
	case "false":
		return 1
	case "hostname":
		fmt.Fprintln(stdout, s.Hostname)
		return 0
	case "whoami":
		user := s.User
		if root {
			user = "root"
		}
		fmt.Fprintln(stdout, user)
		return 0
	case "uname":
		if len(args) == 1 && args[0] == "-n" {
			fmt.Fprintln(stdout, s.Hostname)
		} else {
			fmt.Fprintln(stdout, "Linux")
		}
		return 0
	case "echo":
		fmt.Fprintln(stdout, strings.Join(args, " "))
		return 0
	case "cat":
		return s.cat(args, stdout, stderr)
	case "date":
		return date(args, stdout, stderr)
	case "command", "which":
		path, ok := tools[strings.Join(args[max(0, len(args)-1):], "")]
		if !ok {
			return 1
		}
		fmt.Fprintln(stdout, path)
		return 0
	case "sudo":
		return s.sudo(args, stdout, stderr)
	case "shutdown", "poweroff", "systemctl":
		return s.shutdown(name, args, root, stderr)
	}
	fmt.Fprintf(stderr, "sh: 1: %s: not found\n", words[0])
	return 127
}

func (s *Shell) cat(args []string, stdout, stderr io.Writer) int {
	status := 0
	for _, file := range args {
		if file == "/proc/sys/kernel/random/boot_id" && s.BootID != nil {
			fmt.Fprintln(stdout, s.BootID())
			continue
		}
		fmt.Fprintf(stderr, "cat: %s: No such file or directory\n", file)
		status = 1
	}
	return status
}

func date(args []string, stdout, stderr io.Writer) int {
	now := time.Now()
	switch format := strings.Trim(strings.Join(args, " "), `'"`); format {
	case "":
		fmt.Fprintln(stdout, now.UTC().Format(time.UnixDate))
	case "+%s":
		fmt.Fprintln(stdout, now.Unix())
	case "+%s.%N":
		fmt.Fprintf(stdout, "%d.%09d\n", now.Unix(), now.Nanosecond())
	default:
		fmt.Fprintf(stderr, "date: unknown format %s\n", format)
		return 1
	}
	return 0
}

// sudo takes -n (never ask), -v (check the password alone) and -l (say whether a command is allowed).
func (s *Shell) sudo(args []string, stdout, stderr io.Writer) int {
	list, validate := false, false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		list = list || strings.Contains(args[0], "l")
		validate = validate || args[0] == "-v"
		args = args[1:]
	}
	if s.Sudo != nil {
		if message := s.Sudo(); message != "" {
			fmt.Fprintln(stderr, message)
			return 1
		}
	}
	if list {
		if len(args) == 0 {
			fmt.Fprintf(stdout, "User %s may run the following commands on %s:\n    (ALL) NOPASSWD: ALL\n", s.User, s.Hostname)
			return 0
		}
		name := args[0][strings.LastIndex(args[0], "/")+1:]
		path, ok := tools[name]
		if !ok {
			return 1
		}
		fmt.Fprintln(stdout, strings.Join(append([]string{path}, args[1:]...), " "))
		return 0
	}
	if validate && len(args) == 0 {
		return 0
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: sudo [-nlv] command")
		return 1
	}
	return s.command(args, true, stdout, stderr)
}

// shutdown understands the ways to power off, and refuses the rest.
func (s *Shell) shutdown(name string, args []string, root bool, stderr io.Writer) int {
	off := false
	switch name {
	case "poweroff":
		off = len(args) == 0
	case "systemctl":
		for _, a := range args {
			off = off || a == "poweroff"
		}
	case "shutdown":
		halt, now := true, false
		for _, a := range args {
			switch a {
			case "-h", "-P", "--poweroff":
			case "now", "+0":
				now = true
			default:
				halt = false
			}
		}
		off = halt && now
	}
	if !off {
		fmt.Fprintf(stderr, "%s: the lab knows only how to power off now\n", name)
		return 1
	}
	if !root {
		fmt.Fprintln(stderr, "Call to PowerOff failed: Interactive authentication required.")
		return 1
	}
	if s.Shutdown == nil {
		fmt.Fprintln(stderr, "this machine cannot be shut down")
		return 1
	}
	s.Shutdown()
	return 0
}
