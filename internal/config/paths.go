package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// place makes the file names in the config absolute, relative to the folder of the
// config file, so that they do not depend on the current folder. A field with a file
// name has the tag path:"file". The tag path:"program" marks a program, which is
// searched for in PATH unless its name has a slash; path:"folder" defaults to the
// config's own folder.
func (c *Config) place(path string) {
	dir, err := filepath.Abs(path)
	if info, e := os.Stat(path); e == nil && info.Mode().IsRegular() {
		dir = filepath.Dir(dir)
	} else { // a pipe has no folder
		dir, err = os.Getwd()
	}
	if err != nil {
		return // the current folder is unknown
	}
	placeIn(dir, reflect.ValueOf(c), "")
}

func placeIn(dir string, v reflect.Value, kind string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		placeIn(dir, v.Elem(), kind) // a nil section has no kind
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				placeIn(dir, v.Field(i), f.Tag.Get("path"))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if i == 0 || kind != "program" { // a program's arguments stay as they are
				placeIn(dir, v.Index(i), kind)
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			placed := reflect.New(value.Type()).Elem()
			placed.Set(value)
			placeIn(dir, placed, kind)
			v.SetMapIndex(key, placed)
		}
	case reflect.String:
		if kind != "" {
			v.SetString(placed(dir, v.String(), kind))
		}
	}
}

// variable is a variable of the environment at the beginning of a file name.
var variable = regexp.MustCompile(`^\$(?:\w+|\{\w+\})(/|$)`)

func placed(dir, name, kind string) string {
	if v := strings.TrimSuffix(variable.FindString(name), "/"); v != "" && os.ExpandEnv(v) != "" {
		name = os.ExpandEnv(v) + strings.TrimPrefix(name, v)
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	switch {
	case name == "" && kind != "folder", filepath.IsAbs(name), strings.HasPrefix(name, "~"):
		return name
	case kind == "program" && !strings.Contains(name, "/"):
		return name
	}
	return filepath.Join(dir, name)
}
