// Package plan defines the file that describes a trial: steps that run one after the
// other, and expectations. It reads such files strictly, reports errors with line
// numbers, and contains the built-in plans. Help describes the file's grammar.
//
// This package has the types of a plan, their reading, writing and texts, and every
// check that needs only the file or a list of names. It does not read a cluster, switch a
// machine or write a record.
package plan
