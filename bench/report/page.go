package report

import (
	"fmt"
	"os"
	"strings"
)

// The lines of the page between which the results are.
const (
	pageBegin = "<!-- bench: begin -->"
	pageEnd   = "<!-- bench: end -->"
)

// Fill replaces what is between the markers in a file. The file stays as it is on an error.
func Fill(path, content string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := fill(string(page), content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}

func fill(page, content string) (string, error) {
	before, rest, ok := strings.Cut(page, pageBegin+"\n")
	if !ok {
		return "", fmt.Errorf("the line %q is missing", pageBegin)
	}
	_, after, ok := strings.Cut(rest, pageEnd+"\n")
	if !ok {
		return "", fmt.Errorf("the line %q is missing after %q", pageEnd, pageBegin)
	}
	return before + pageBegin + "\n\n" + strings.TrimSpace(content) + "\n\n" + pageEnd + "\n" + after, nil
}
