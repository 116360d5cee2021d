package power

import "time"

// SetRetryPause shortens the pause before a power-on is asked for again.
func (f *Fleet) SetRetryPause(d time.Duration) { f.retryPause = d }

// Child is run in place of the tests when the variable ChildEnv is set.
var Child func()

// ChildEnv is the variable that makes this binary a child of a test.
const ChildEnv = "LIGHTSOUT_TEST_CHILD"

// SetCarriedOut shortens the time within which a shutdown may be carried out.
func (j *Journal) SetCarriedOut(d time.Duration) { j.carriedOut = d }
