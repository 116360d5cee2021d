package text

import "errors"

// Advised is an error with its next step. Its text is the error's and
// the advice, with a semicolon between.
type Advised struct {
	Err  error
	Todo string
}

// Advise adds to an error what to do about it; no advice adds nothing.
func Advise(err error, todo string) error {
	if todo == "" {
		return err
	}
	return &Advised{err, todo}
}

// Error returns the cause and the next step.
func (a *Advised) Error() string { return a.Err.Error() + "; " + a.Todo }

// Unwrap returns the cause.
func (a *Advised) Unwrap() error { return a.Err }

// Innermost returns the error that err wraps in the end: the texts around it contain names, such as a target's.
func Innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
