package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"lightsout/internal/record"
	"lightsout/internal/view"
)

// problem is why a test case has not passed: a failure or an error.
type problem struct {
	XMLName xml.Name
	Message string `xml:"message,attr"`
}

type testCase struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Seconds float64 `xml:"time,attr"`
	Why     *problem
}

// suite is a test suite with its counts and time.
type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Seconds  float64    `xml:"time,attr"`
	Cases    []testCase `xml:"testcase"`
}

// JUnit is a trial of a plan as a test suite in XML for CI: a case for the verdict, which takes the trial's time, and
// one for each expectation. An error is what nobody has observed, or a trial that was aborted or, without a summary,
// refused: why is then the reason. It is nil only if the trial passed.
func JUnit(plan string, s *record.Summary, why error) ([]byte, error) {
	s = cmp.Or(s, &record.Summary{})
	all := suite{Name: plan, Seconds: s.Ended.Sub(s.Started).Seconds()}
	add := func(name string, seconds float64, ok, failed bool, why string) {
		c := testCase{plan, name, seconds, nil}
		all.Tests++
		switch {
		case ok:
		case failed:
			all.Failures++
			c.Why = &problem{xml.Name{Local: "failure"}, why}
		default:
			all.Errors++
			c.Why = &problem{xml.Name{Local: "error"}, why}
		}
		all.Cases = append(all.Cases, c)
	}
	add("verdict", all.Seconds, why == nil, s.Verdict == view.Fail, strings.Join(append(s.Why, fmt.Sprint(why)), "; "))
	for _, x := range s.Expectations {
		add(x.Name, 0, x.OK, !x.Unobserved, fmt.Sprintf("wanted %s, got %s", x.Want, x.Got))
	}
	return xml.MarshalIndent(all, "", "  ")
}
