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

// JUnit is a trial as a test suite in XML for CI, with the name of its plan, or without a summary that name: a case for the verdict, which takes the trial's time, and
// one for each expectation. A failure is an expectation that was missed, or the verdict fail; an error is what nobody has observed, or a trial that was aborted or, without a summary,
// refused: why is then the reason. It is nil only if the trial passed.
func JUnit(plan string, s *record.Summary, why error) ([]byte, error) {
	s = cmp.Or(s, &record.Summary{Name: plan})
	var cases []testCase
	count := map[string]int{} // by kind of problem
	took := s.Ended.Sub(s.Started).Seconds()
	add := func(name string, seconds float64, ok, failed bool, why string) {
		c := testCase{s.Name, name, seconds, nil}
		if kind := map[bool]string{true: "failure", false: "error"}[failed]; !ok {
			count[kind]++
			c.Why = &problem{xml.Name{Local: kind}, why}
		}
		cases = append(cases, c)
	}
	add("verdict", took, why == nil, s.Verdict == view.Fail, strings.Join(append(s.Why, fmt.Sprint(why)), "; "))
	for _, x := range s.Expectations {
		add(x.Name, 0, x.OK, !x.Unobserved, map[bool]string{true: "not observed: "}[x.Unobserved]+fmt.Sprintf("wanted %s, got %s", x.Want, x.Got))
	}
	return xml.MarshalIndent(struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Seconds  float64    `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}{xml.Name{}, s.Name, len(cases), count["failure"], count["error"], took, cases}, "", "  ")
}
