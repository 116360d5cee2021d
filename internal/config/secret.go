package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"lightsout/internal/text"
	"lightsout/power"
)

// secretSource checks where a secret is kept, and returns a function that reads it each
// time; nil if none is configured. No error contains its value.
func secretSource(s power.Secret) (power.Source, error) {
	field := s.Field[strings.LastIndexByte(s.Field, '.')+1:]
	switch {
	case s.File != "" && s.Env != "":
		return nil, &power.FieldError{Field: s.Field + "_env", Text: "give " + s.Name + " by " + field + "_file or " + field + "_env, not both"}
	case s.File == "" && s.Env == "" && s.Must:
		return nil, &power.FieldError{
			Field: strings.TrimSuffix(s.Field, "."+field), Text: s.Name + " is missing: give " + field + "_file or " + field + "_env",
		}
	case s.File == "" && s.Env == "":
		return nil, nil
	}
	return func() (string, error) { return readSecret(s) }, nil
}

// readSecret takes a secret from a file that only its owner may read, or from
// an environment variable.
func readSecret(s power.Secret) (string, error) {
	if s.Env != "" {
		v := os.Getenv(s.Env)
		if v == "" {
			return "", fmt.Errorf("%s: the environment variable %s is empty", s.Name, s.Env)
		}
		return v, nil
	}
	if info, err := os.Stat(s.File); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: others may read %s; run chmod 600 on it", s.Name, s.File)
	}
	b, err := text.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", s.Name, err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return "", errors.New(s.Name + " is empty")
	}
	return v, nil
}
