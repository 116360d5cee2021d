package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// pack makes a package of the staged files.
func (r *release) pack(format, arch string) (err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "lightsout", Version: r.version, Platform: "linux", Arch: arch, MTime: r.when,
		Section: "admin", License: "Apache-2.0", Maintainer: "The lightsout authors",
		Description: "Pull the plug on Kubernetes nodes, watch the service, bring them back\n" +
			"It switches the nodes' machines off and on, shows what the cluster and the\nservice do meanwhile, accounts for every request, and keeps the record.",
		Overridables: nfpm.Overridables{Contents: r.contents(format), RPM: nfpm.RPM{BuildHost: "localhost", Group: "System/Management"}},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return packager.Package(info, f)
}

// contents says where each staged file is installed.
func (r *release) contents(format string) files.Contents {
	zsh, doc, license := "/usr/share/zsh/vendor-completions", "/usr/share/doc/lightsout/", "copyright"
	if format == "rpm" {
		zsh, license = "/usr/share/zsh/site-functions", "LICENSE"
	}
	all := files.Contents{{Source: "lightsout", Destination: "/usr/bin/kubectl-lightsout", Type: files.TypeSymlink}}
	for from, to := range map[string]string{
		"lightsout": "/usr/bin/lightsout", "kubectl_complete-lightsout": "/usr/bin/kubectl_complete-lightsout",
		"completions/lightsout.bash": "/usr/share/bash-completion/completions/lightsout",
		"completions/lightsout.fish": "/usr/share/fish/vendor_completions.d/lightsout.fish",
		"completions/_lightsout":     zsh + "/_lightsout",
		"LICENSE":                    doc + license, "README.md": doc + "README.md", "clusterrole.yaml": doc + "examples/clusterrole.yaml", "recorder.yaml": doc + "examples/recorder.yaml",
		"lightsout-recorder.service": "/usr/lib/systemd/system/lightsout-recorder.service",
		"lightsout.yaml.example":     doc + "examples/lightsout.yaml",
	} {
		all = append(all, r.content(from, to))
	}
	pages, _ := filepath.Glob(r.staged("man/*")) // it fails only for a malformed pattern
	for _, page := range pages {
		section := strings.TrimPrefix(filepath.Ext(page), ".")
		all = append(all, r.content(filepath.Join("man", filepath.Base(page)), "/usr/share/man/man"+section+"/"+filepath.Base(page)))
	}
	return all
}

func (r *release) content(from, to string) *files.Content {
	c := &files.Content{Source: r.staged(from), Destination: to, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.when}}
	if strings.HasPrefix(to, "/usr/bin/") {
		c.FileInfo.Mode = 0o755
	}
	return c
}
