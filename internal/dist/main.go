// Command dist makes what users install, from the repository that it stands in:
// for each platform an archive with the program, its manual pages, completions,
// an example config and the kubectl plugin; packages for Debian and for systems
// with rpm; an image for containers; and the sums of all files. The
// same commit makes the same bytes, wherever it is made.
//
// It is a module of its own, so that the program needs nothing of what it needs.
package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lightsout/internal/cli"
	"lightsout/internal/config"
)

// root is the repository, from where this command is run.
const root = "../.."

// release is the release under way.
type release struct {
	version string
	// out is the folder of the packages, stage that of the files that go into them.
	out, stage string
	// when is the time of every file.
	when time.Time
}

func main() {
	r := release{}
	flag.StringVar(&r.version, "version", "0.0.0", "the `version`, like 1.2.3")
	flag.StringVar(&r.out, "out", filepath.Join(root, "bin", "dist"), "the `folder` to make")
	platforms := flag.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "for these `platforms`")
	flag.Parse()
	if err := r.make(strings.Fields(*platforms)); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func (r *release) make(platforms []string) error {
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is not seconds since 1970: %w", err)
	}
	r.when = time.Unix(seconds, 0).UTC()
	r.stage, err = os.MkdirTemp("", "lightsout-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	if err := r.common(); err != nil {
		return err
	}
	for _, p := range platforms {
		system, arch, _ := strings.Cut(p, "/")
		fmt.Println(p)
		if err := r.platform(system, arch); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return r.sums()
}

// completes is how kubectl finds out what its plugin completes.
const completes = "#!/bin/sh\nexec lightsout __complete \"$@\"\n"

// common stages the files that all platforms share.
func (r *release) common() error {
	cmd := cli.Command(r.version)
	err := errors.Join(
		os.Mkdir(r.staged("man"), 0o755),
		os.Mkdir(r.staged("completions"), 0o755),
		os.WriteFile(r.staged("lightsout.yaml.example"), []byte(config.Example()), 0o644),
		os.WriteFile(r.staged("kubectl_complete-lightsout"), []byte(completes), 0o755),
		os.Symlink("lightsout", r.staged("kubectl-lightsout")),
		cmd.GenBashCompletionFileV2(r.staged("completions/lightsout.bash"), true),
		cmd.GenZshCompletionFile(r.staged("completions/_lightsout")),
		cmd.GenFishCompletionFile(r.staged("completions/lightsout.fish"), true),
	)
	if err != nil {
		return err
	}
	for _, from := range []string{"LICENSE", "README.md", "docs/clusterrole.yaml", "docs/recorder.yaml", "docs/lightsout-recorder.service"} {
		b, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.staged(filepath.Base(from)), b, 0o644); err != nil {
			return err
		}
	}
	return r.manual(cmd)
}

func (r *release) staged(name string) string { return filepath.Join(r.stage, name) }

// platform makes all for one platform.
func (r *release) platform(system, arch string) error {
	build := exec.Command("go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", r.staged("lightsout"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	name := fmt.Sprintf("lightsout_%s_%s_%s", r.version, system, arch)
	if err := r.archive(name); err != nil || system != "linux" {
		return err
	}
	return errors.Join(r.image(name, arch), r.pack("deb", arch), r.pack("rpm", arch))
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) sums() error {
	files, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o644)
}
