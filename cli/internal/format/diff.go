package format

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"reconcel/rules/source"
)

// Diff returns what the layout of a file changes, for people and for patch.
func Diff(file source.File, laid []byte) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(string(file.Data))), B: slices.Collect(strings.Lines(string(laid))),
		FromFile: file.Name, ToFile: file.Name + " (formatted)", Context: 3,
	})
}
