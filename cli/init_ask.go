package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/scaffold"
)

// asker returns a function that asks on the terminal about each field.
func (c initCommand) asker() func(f *scaffold.Field, problem string) (string, error) {
	answers := bufio.NewReader(c.answers)
	c.out.say("For each field: return keeps its name, another name such as spec.web.image renames it, and - keeps the " +
		"value in the rules.")
	return func(f *scaffold.Field, problem string) (string, error) {
		if problem != "" {
			c.out.say("%s", problem)
		} else {
			c.out.say("\n%s: %v", f.Name(), f.Value)
			for _, use := range f.Uses {
				c.out.say("  %s", use)
			}
		}
		_, _ = fmt.Fprintf(c.out.stderr, "[%s] ", f.Name())
		line, err := answers.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", exit.Failure(fmt.Errorf("read an answer: %w", err))
		}
		return strings.TrimSpace(line), nil
	}
}
