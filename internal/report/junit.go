package report

import (
	"encoding/xml"
	"fmt"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// problem is why a test case has not passed.
type problem struct {
	Message string `xml:"message,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Seconds float64  `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
}

// JUnit is a trial of a plan as a test suite in XML for CI: a case for the verdict, which takes the trial's time, and
// one for each expectation. An error is what nobody has observed, or a trial that was aborted or, without a summary,
// refused: why is then the reason. It is nil only if the trial passed.
func JUnit(plan string, s *record.Summary, why error) ([]byte, error) {
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Seconds  float64    `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}{Name: plan}
	add := func(name string, seconds float64, ok, failed bool, why string) {
		c := testCase{Class: plan, Name: name, Seconds: seconds}
		switch {
		case ok:
		case failed:
			c.Failure, suite.Failures = &problem{why}, suite.Failures+1
		default:
			c.Error, suite.Errors = &problem{why}, suite.Errors+1
		}
		suite.Tests, suite.Cases = suite.Tests+1, append(suite.Cases, c)
	}
	if s == nil {
		add("verdict", 0, why == nil, false, fmt.Sprint(why))
	} else {
		suite.Seconds = s.Ended.Sub(s.Started).Seconds()
		add("verdict", suite.Seconds, why == nil, s.Verdict == view.Fail, strings.Join(append(s.Why, fmt.Sprint(why)), "; "))
		for _, x := range s.Expectations {
			add(x.Name, 0, x.OK, !x.Unobserved, fmt.Sprintf("wanted %s, got %s", x.Want, x.Got))
		}
	}
	return xml.MarshalIndent(suite, "", "  ")
}
