package report

import (
	"fmt"
	"os"
	"strings"
)

// Fill replaces what is between the lines <!-- SECTION: begin --> and <!-- SECTION: end -->
// in a file. The file stays as it is if they are missing.
func Fill(path, section, content string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := fill(string(page), section, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}

func fill(page, section, content string) (string, error) {
	begin, end := "<!-- "+section+": begin -->\n", "<!-- "+section+": end -->\n"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("the line %q is missing", strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("the line %q is missing after the begin", strings.TrimSpace(end))
	}
	return before + begin + "\n" + strings.TrimSpace(content) + "\n\n" + end + after, nil
}
