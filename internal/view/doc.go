// Package view has the types that a screen shows and a record keeps: a [Frame] is the
// state of a session at one moment, an [Event] a line of its timeline, a [Question] a
// question to the operator, an [Intent] a request of the operator.
//
// This package has these types, which are plain data, and their texts, which the
// screen, the plain lines, the record and the report share. It does not make a frame,
// carry out an intent, or draw.
package view
