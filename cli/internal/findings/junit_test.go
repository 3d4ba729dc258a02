package findings

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestDocument holds the reports of JUnit against the schema of Jenkins.
func TestDocument(t *testing.T) {
	for _, suites := range [][]Suite{nil, {
		{Name: "a&b.yaml", Cases: []Case{{Name: "fails", Took: 83 * time.Minute, Failures: hostile}, {Name: "passes"}}},
		{Name: "empty.yaml"},
	}} {
		text, err := Document(suites)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "<testsuite "); got != len(suites) {
			t.Errorf("%d suites in\n%s", got, text)
		}
		if out, err := xmllint(t, string(text)); err != nil {
			t.Errorf("%s\n%s", out, text)
		}
	}
}

// TestSchemaFindsMistakes checks the check of TestDocument.
func TestSchemaFindsMistakes(t *testing.T) {
	for _, report := range []string{
		`<tests/>`,
		`<testsuites count="1"/>`,
		`<testsuite name="a"/>`,
		`<testsuites><testcase/></testsuites>`,
		`<testsuites>text</testsuites>`,
		`<testsuite name="a" tests="1"><system-out/><testcase name="b"/></testsuite>`,
	} {
		if out, err := xmllint(t, report); err == nil || !strings.Contains(string(out), "fails to validate") {
			t.Errorf("%s: %v, %s", report, err, out)
		}
	}
}

// xmllint validates a report.
func xmllint(t *testing.T, report string) (out []byte, err error) {
	t.Helper()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("no xmllint: install the package libxml2-utils")
	}
	lint := exec.Command("xmllint", "--noout", "--nonet", "--schema", "testdata/junit-4.xsd", "-")
	lint.Stdin = strings.NewReader(report)
	return lint.CombinedOutput()
}
