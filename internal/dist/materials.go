package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"strings"
	"time"
)

// component is a part of the program, as CycloneDX 1.5 describes it.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

func module(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

// materials stages the bill of materials of the staged program, from what the
// compiler has written into it.
func (r *release) materials() error {
	info, err := buildinfo.ReadFile(r.staged("lightsout"))
	if err != nil {
		return err
	}
	parts := []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, module("library", m.Path, m.Version))
	}
	b, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.when.Format(time.RFC3339),
			"component": module("application", info.Main.Path, r.version),
		},
		"components": parts,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.staged("lightsout.cdx.json"), append(b, '\n'), 0o644)
}
