package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
	Out       junitResult `xml:"system-out"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitResult `xml:"failure,omitempty"`
	Error   *junitResult `xml:"error,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// Run is one run of a trial for JUnit.
type Run struct {
	// Name is that of the plan, and Summary that of the run; nil if it has none.
	Name    string
	Summary *record.Summary
	// Problem is why nothing proves the verdict, or why the run did not begin; empty otherwise.
	Problem string
}

// JUnit writes the runs of a trial as JUnit XML: one suite for each run, with a case "verdict"
// and one for each expectation. An expectation that did not hold is a failure. One that nobody
// could judge, because lightsout did not observe enough or the trial was aborted, is an error
// of that type. A run with a Problem has one more case, an error. The error is the writer's.
func JUnit(w io.Writer, runs ...Run) error {
	var all junitSuites
	for i, r := range runs {
		name := "lightsout." + clean(r.Name)
		if len(runs) > 1 {
			name += fmt.Sprintf(".run%d", i+1)
		}
		suite := junitSuite{Name: name, Time: "0.000"}
		if r.Summary != nil {
			suite = suiteOf(name, r.Summary)
		}
		if r.Problem != "" {
			suite.add(junitCase{Class: name, Name: "run", Time: "0.000"}, &junitResult{Message: clean(r.Problem), Type: "not proven", Text: clean(r.Problem)}, true)
		}
		all.Suites = append(all.Suites, suite)
	}
	out, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("the JUnit report can't be written: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(out)+"\n")
	return err
}

// suiteOf returns the suite of one run.
func suiteOf(name string, s *record.Summary) junitSuite {
	took := "0.000"
	if d := s.Ended.Sub(s.Started); d > 0 && !s.Started.IsZero() {
		took = fmt.Sprintf("%.3f", d.Seconds())
	}
	suite := junitSuite{Name: name, Time: took, Out: junitResult{Text: strings.Join(Lines(s, ""), "\n") + "\n"}}
	if !s.Started.IsZero() {
		suite.Timestamp = s.Started.UTC().Format(time.RFC3339)
	}
	suite.add(junitCase{Class: name, Name: "verdict", Time: took}, verdictResult(s), s.Verdict != view.Fail)
	for _, e := range s.Expectations {
		c := junitCase{Class: name, Name: clean(e.Name), Time: "0.000"}
		if e.OK {
			suite.add(c, nil, false)
			continue
		}
		result := &junitResult{Message: clean("wanted " + e.Want + ", got " + e.Got), Type: "expectation"}
		if e.Unobserved {
			result.Type = "not observed"
		}
		suite.add(c, result, e.Unobserved)
	}
	return suite
}

// verdictResult is nil for a trial in which nothing failed.
func verdictResult(s *record.Summary) *junitResult {
	if s.Verdict == view.Pass || s.Verdict == view.NoExpectations {
		return nil
	}
	r := &junitResult{Message: strings.ToLower(verdictOf(s.Verdict).Text), Type: strings.ToLower(verdictOf(s.Verdict).Text)}
	var why []string
	for _, t := range s.Why {
		why = append(why, clean(t))
	}
	if len(why) > 0 {
		r.Message = why[0]
	}
	r.Text = strings.Join(why, "\n")
	return r
}

func (s *junitSuite) add(c junitCase, r *junitResult, broken bool) {
	s.Tests++
	switch {
	case r == nil:
	case broken:
		c.Error = r
		s.Errors++
	default:
		c.Failure = r
		s.Failures++
	}
	s.Cases = append(s.Cases, c)
}
