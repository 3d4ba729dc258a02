// Package conversion is what reconcel and its program reconcel-convert say to each other. Converting needs
// libraries of other projects, such as Helm's, that the controller is to do without.
//
// reconcel starts the program with a command and its flags. Of the commands kro and crossplane, stdin has
// the files as a JSON list of source.File, and stdout has a Result. Of the command chart, stdout has
// manifests. With an exit code other than 0, stderr says what is wrong.
package conversion

import "reconcel/rules/source"

// Program is the name of the program.
const Program = "reconcel-convert"

// The commands of the program.
const (
	Kro        = "kro"
	Crossplane = "crossplane"
	Chart      = "chart"
)

// A Result is what definitions of another project become.
type Result struct {
	Files    []source.File `json:"files"` // rules.yaml, crd.yaml and example.yaml; none: nothing was found
	Findings source.Errors `json:"findings"`
}
