package text

// Advised is an error that says what to do about it. Its text is the error's and
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

// Error is what is wrong and what to do.
func (a *Advised) Error() string { return a.Err.Error() + "; " + a.Todo }

// Unwrap gives what is wrong.
func (a *Advised) Unwrap() error { return a.Err }
