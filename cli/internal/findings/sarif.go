package findings

import (
	"cmp"
	"net/url"
	"path/filepath"

	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// unnamed is the identifier in SARIF of findings without a named check.
const unnamed = "rules"

// Log returns findings in the Static Analysis Results Interchange Format, for an
// encoder of JSON. Specification: SARIF 2.1.0, OASIS. version is that of reconcel.
func Log(version string, all source.Errors) any {
	r := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	r.Tool.Driver = sarifDriver{Name: "reconcel", Version: version}
	for _, id := range used(all) {
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, describe(id))
	}
	for _, e := range all {
		r.Results = append(r.Results, sarifResult{
			RuleID: cmp.Or(e.Check, unnamed), Level: e.Severity.String(), Message: sarifText{e.Text()},
			Locations: locationsOf(e.Pos),
		})
	}
	return sarifLog{Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{r}}
}

// used returns the identifiers of all findings, each once, in their order.
func used(all source.Errors) (ids []string) {
	seen := map[string]bool{}
	for _, e := range all {
		if id := cmp.Or(e.Check, unnamed); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func describe(id string) sarifRule {
	if c, named := lint.Named(id); named {
		return sarifRule{id, sarifText{c.Finds}}
	}
	return sarifRule{id, sarifText{"rules that are not valid"}}
}

// address returns a file as a URI, relative as the file was named.
func address(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// locationsOf returns no location for what is in no file.
func locationsOf(p source.Pos) []sarifLocation {
	if p.File == "" {
		return nil
	}
	return []sarifLocation{{sarifPhysical{sarifArtifact{address(p.File)}, regionOf(p)}}}
}

// regionOf returns nil for a whole file.
func regionOf(p source.Pos) *sarifRegion {
	if p.Line < 1 {
		return nil
	}
	return &sarifRegion{p.Line, max(p.Column, 1)}
}

// The parts of SARIF that a log has.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules,omitempty"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)
