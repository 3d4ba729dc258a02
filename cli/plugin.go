package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// plugin is the name of the binary as a plugin of kubectl, which runs it for kubectl
// reconcel.
const plugin = "kubectl-reconcel"

// exampleCommand matches the name of the command where an example calls it.
var exampleCommand = regexp.MustCompile(`(?m)(^ *|[|;] )reconcel `)

// nameAs lets the help of a command and its subcommands call it as the user does.
func nameAs(program string, root *cobra.Command) {
	if strings.TrimSuffix(filepath.Base(program), ".exe") != plugin {
		return
	}
	name := strings.Replace(plugin, "-", " ", 1)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	renameExamples(name, root)
}

func renameExamples(name string, cmd *cobra.Command) {
	cmd.Example = exampleCommand.ReplaceAllString(cmd.Example, "${1}"+name+" ")
	for _, sub := range cmd.Commands() {
		renameExamples(name, sub)
	}
}
