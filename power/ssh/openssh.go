package ssh

import (
	"context"
	"fmt"
	"strings"
	"time"

	"lightsout/power"
	"lightsout/power/internal/program"
)

// askLimit bounds one run of ssh -G, with the commands of Match exec.
const askLimit = 15 * time.Second

// question is what the settings of a host depend on besides the files. fallback is the user
// for whom nothing else is known.
type question struct{ user, alias, port, fallback string }

// settings returns the settings of a host: those that the installed ssh reports, or where
// there is none, those that subset understands. It asks once.
func (c *config) settings(q question) (settings, error) {
	if known, ok := c.answers.Load(q); ok {
		return known.(settings), nil
	}
	read := c.ask
	if c.program == "" {
		read = c.subset
	}
	s, err := read(q)
	if err != nil {
		return nil, never(err)
	}
	c.answers.Store(q, s)
	return s, nil
}

// ask asks ssh -G. It answers with the account's name where no line names a user: then
// fallback counts, behind all lines.
func (c *config) ask(q question) (settings, error) {
	s, err := c.run(q, c.given, "")
	if err != nil || q.user != "" || q.fallback == "" || s.first("user") != c.local {
		return s, err
	}
	behind, err := c.run(q, "/dev/stdin", "Include \""+strings.Join(c.files, "\" \"")+"\"\nMatch all\nUser \""+q.fallback+"\"\n")
	if err == nil {
		s["user"] = behind["user"]
	}
	return s, err
}

// run runs ssh -G, which connects to nothing. It has no terminal, so that the commands of
// Match exec can't ask there.
func (c *config) run(q question, file, stdin string) (settings, error) {
	args := []string{c.program, "-G"}
	for _, a := range [][2]string{{"-F", file}, {"-l", q.user}, {"-p", q.port}} {
		if a[1] != "" {
			args = append(args, a[0], a[1])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	r, err := program.Run(ctx, program.Program{Argv: append(args, "--", q.alias), Stdin: stdin})
	switch {
	case err != nil:
		return nil, fmt.Errorf("ssh -G %s does not answer (%w); see what its Match exec waits for", q.alias, err)
	case !r.OK():
		return nil, fmt.Errorf("ssh does not understand its configuration for %s: %s; correct it, or name another file as ssh.config", q.alias, power.Clean(r.Stderr))
	}
	// ssh has put the account's home for ~.
	home := strings.NewReplacer(" "+c.home+"/", " "+c.home+"/", " "+c.account+"/", " ~/")
	s := settings{}
	for line := range strings.Lines(r.Stdout) {
		key, value, _ := strings.Cut(home.Replace(strings.TrimRight(line, "\r\n")), " ")
		s[key] = append(s[key], value)
	}
	return s, nil
}
