// Package plan is the file that describes a trial: steps that are taken one
// after the other, and what must be seen. It reads such files strictly, says
// with line numbers what is wrong with them, and carries the plans that are
// built in. It carries nothing out.
package plan
