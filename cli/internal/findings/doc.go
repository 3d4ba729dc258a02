// Package findings prints the mistakes that validate and test find, and the risks of
// plan, in the formats of pipelines: JSON, SARIF, annotations of GitHub, and JUnit.
package findings

// The formats, as the flag -o names them.
const (
	JSON   = "json"
	SARIF  = "sarif"
	GitHub = "github"
	JUnit  = "junit"
)
