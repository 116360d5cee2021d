package ssh

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxIncludes is how deep Include may nest, as in ssh (readconf.c, READCONF_MAX_DEPTH).
const maxIncludes = 16

// block is a part of an ssh_config: the lines before the first Host or Match, or one of
// these with what it holds.
type block struct {
	lines []string
	first int // the number of its first line
}

// add appends the settings of a file. The parser takes a file as a whole or not at all, and
// it knows few criteria of Match. If it does not take the file, add goes through its blocks,
// leaves out each Match that lightsout cannot evaluate, and records that. Any other fault
// is an error.
func (c *config) add(path string, text []byte, depth int) error {
	parsed, whole := decode(text)
	if whole == nil {
		c.files = append(c.files, parsed)
		return nil
	}
	if depth > maxIncludes {
		return fmt.Errorf("it includes files more than %d deep", maxIncludes)
	}
	for _, b := range blocksOf(string(text)) {
		if err := c.addBlock(path, b, depth); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf splits an ssh_config at its lines Host and Match.
func blocksOf(text string) []block {
	all := []block{{first: 1}}
	for i, line := range strings.Split(text, "\n") {
		if key, _ := directive(line); key == "host" || key == "match" {
			all = append(all, block{first: i + 1})
		}
		b := &all[len(all)-1]
		b.lines = append(b.lines, line)
	}
	return all
}

// directive splits a line of an ssh_config into its keyword, in lower case, and the rest.
func directive(line string) (key, rest string) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, " \t=")
	if end < 0 || strings.HasPrefix(line, "#") {
		return "", ""
	}
	return strings.ToLower(line[:end]), strings.Trim(line[end:], " \t=")
}

// addBlock appends the settings of a block. The parser may not take a file that the block
// includes: add reads one that is included for all hosts.
func (c *config) addBlock(path string, b block, depth int) error {
	parsed, fault := decode([]byte(strings.Join(b.lines, "\n")))
	if fault == nil {
		c.files = append(c.files, parsed)
		return nil
	}
	key, criteria := directive(b.lines[0])
	begins := key == "host" || key == "match"
	if key == "match" && unknownMatch(b.lines[0]) {
		c.skipped = append(c.skipped, fmt.Sprintf("lightsout skips \"Match %s\" in line %d of %s: it does not support this", criteria, b.first, path))
		return nil
	}
	i := slices.IndexFunc(b.lines, func(line string) bool { name, _ := directive(line); return name == "include" })
	if i < 0 {
		return fmt.Errorf("the part that begins in line %d: %w", b.first, fault)
	}
	_, files := directive(b.lines[i])
	if begins && !strings.EqualFold(criteria, "all") && criteria != "*" {
		c.skipped = append(c.skipped, fmt.Sprintf("lightsout skips \"Include %s\" in line %d of %s: a file there has a Match that it does not support", files, b.first+i, path))
		return c.addBlock(path, block{slices.Delete(slices.Clone(b.lines), i, i+1), b.first}, depth)
	}
	if i > 0 {
		if err := c.addBlock(path, block{b.lines[:i], b.first}, depth); err != nil {
			return err
		}
	}
	if err := c.include(files, depth); err != nil {
		return err
	}
	return c.addBlock(path, block{append([]string{"Host *"}, b.lines[i+1:]...), b.first + i}, depth)
}

// unknownMatch reports whether the parser refuses the line itself.
func unknownMatch(line string) bool {
	_, err := decode([]byte(line))
	return err != nil
}

// include appends the settings of the files that Include names.
func (c *config) include(patterns string, depth int) error {
	for _, p := range fields(patterns) {
		p = c.expand(p, host{})
		if !filepath.IsAbs(p) {
			p = filepath.Join(c.home, ".ssh", p)
		}
		paths, err := filepath.Glob(p)
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := c.add(path, text, depth+1); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}
