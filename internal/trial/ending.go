package trial

// stage is where a trial stands.
type stage int

const (
	stageSteps   stage = iota // the steps are taken
	stageCleanup              // loads are stopped, machines powered on
	stageOver                 // judged and written
)

// outcome is why a trial ends.
type outcome int

const (
	inOrder    outcome = iota // its steps are over, or the operator has ended it
	stepFailed                // a step failed, or its nodes were down before it
	aborted                   // by the operator, or with the session
)

// ending is how far a trial is on the way to its end, why it ends, and what becomes of its machines.
type ending struct {
	stage   stage
	outcome outcome
	// keepOff: machines that are off stay off, by the trial's options or the operator's word.
	keepOff bool
	// why is who or what aborted it; empty if it was not, or nobody said.
	why string
	// where is when it ended and in which step; empty between steps.
	where string
}

// begin begins the end. Only an abort takes the place of an end that has begun. False: nothing has changed.
func (e *ending) begin(o outcome) bool {
	if e.stage == stageOver || e.stage == stageCleanup && (o != aborted || e.outcome == aborted) {
		return false
	}
	e.stage, e.outcome = stageCleanup, o
	return true
}
