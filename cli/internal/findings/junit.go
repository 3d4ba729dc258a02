package findings

import (
	"encoding/xml"
	"fmt"
	"time"

	"reconcel/rules/source"
)

// A Suite has the results of one file.
type Suite struct {
	Name  string
	Cases []Case
}

// A Case is one check or test. It passed if it has no failures.
type Case struct {
	Name     string
	Took     time.Duration
	Failures source.Errors
}

// Suites returns one suite with one case for each file, which fails by its findings
// of severity error.
func Suites(files []string, all source.Errors) (suites []Suite) {
	for _, file := range files {
		c := Case{Name: "validate"}
		for _, e := range all {
			if e.Pos.File == file && e.Severity == source.SeverityError {
				c.Failures = append(c.Failures, e)
			}
		}
		suites = append(suites, Suite{Name: file, Cases: []Case{c}})
	}
	return suites
}

// Document returns suites as the XML that test reports of JUnit have, as Jenkins and
// GitLab read it: with the elements of the schema testdata/junit-4.xsd.
func Document(suites []Suite) ([]byte, error) {
	var d junitSuites
	for _, s := range suites {
		out := junitSuite{Name: s.Name, Tests: len(s.Cases)}
		var all time.Duration
		for _, c := range s.Cases {
			all += c.Took
			next := junitCase{Name: c.Name, Class: s.Name, Time: inSeconds(c.Took)}
			if len(c.Failures) > 0 {
				out.Failures++
				next.Failure = &junitFailure{Message: c.Failures[0].Text(), Text: c.Failures.Error()}
			}
			out.Cases = append(out.Cases, next)
		}
		out.Time = inSeconds(all)
		d.Suites, d.Tests, d.Failures = append(d.Suites, out), d.Tests+out.Tests, d.Failures+out.Failures
	}
	text, err := xml.MarshalIndent(d, "", "  ")
	return append(append([]byte(xml.Header), text...), '\n'), err
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// The elements of a report.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"` // always 0, which some readers require
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"` // in seconds
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"` // in seconds
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)
