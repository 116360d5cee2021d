// Package plan is the file that describes a trial: steps that are taken one
// after the other, and what must be seen. It reads such files strictly, says
// with line numbers what is wrong with them, and carries the plans that are
// built in. Help is the file's grammar. It carries nothing out.
//
// What may live here: the types of a plan, reading and writing them, their
// words for people, and every check that needs the file alone or a list of
// names. What may not: anything that knows a cluster, a machine or a record.
package plan
