package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/lint"
)

// yamlFlags name files and folders of YAML or JSON.
var yamlFlags = []string{"rules", "crd", "resources", "observed", "against"}

// A completer answers what a shell completes.
type completer struct{ loader *loader }

// addCompletions adds to all commands what a shell completes: the words that a flag
// accepts, files, named checks, and the names and kinds of the rules that -f selects.
func (c *completer) addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		c.addCompletions(cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := c.completionOf(f); complete != nil {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // The flag exists, and has none yet.
			}
		})
		if cmd.ValidArgsFunction == nil && !strings.HasSuffix(cmd.Use, "[PATH...]") && !strings.HasSuffix(cmd.Use, "FILE") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completionOf returns how to complete the value of a flag. nil completes files.
func (c *completer) completionOf(f *pflag.Flag) cobra.CompletionFunc {
	choice, chooses := f.Value.(interface{ Choices() []string })
	kind, _ := pflag.UnquoteUsage(f)
	switch {
	case chooses && len(choice.Choices()) > 0:
		return cobra.FixedCompletions(choice.Choices(), cobra.ShellCompDirectiveNoFileComp)
	case slices.Contains(yamlFlags, f.Name):
		return cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
	case f.Name == "ignore-check":
		return cobra.FixedCompletions(checkNames(), cobra.ShellCompDirectiveNoFileComp)
	case f.Name == "rule", f.Name == "confirm-removal":
		return c.completeRules
	case f.Name == "kind":
		return c.completeKinds
	case kind == "file" || kind == "folder":
		return nil
	}
	return cobra.NoFileCompletions
}

// checkNames returns the named checks with what they find.
func checkNames() (names []string) {
	for _, c := range lint.Checks {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Finds))
	}
	return names
}

// completeRules completes names of rules.
func (c *completer) completeRules(cmd *cobra.Command, _ []string,
	_ string) (names []string, _ cobra.ShellCompDirective) {
	for _, p := range c.completedProgram(cmd).Primaries() {
		for _, r := range p.Rules {
			names = append(names, cobra.CompletionWithDesc(r.Name, "for "+p.GVK.Kind))
		}
	}
	return distinct(names), cobra.ShellCompDirectiveNoFileComp
}

// completeKinds completes the kinds of resources, and for why those of children too.
// Where a name must follow, it adds the slash.
func (c *completer) completeKinds(cmd *cobra.Command, args []string,
	_ string) (kinds []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 && !strings.HasSuffix(cmd.Use, "...]") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	end, directive := "", cobra.ShellCompDirectiveNoFileComp
	if strings.Contains(cmd.Use, "KIND/NAME") {
		end, directive = "/", directive|cobra.ShellCompDirectiveNoSpace
	}
	add := func(gvk schema.GroupVersionKind) {
		kinds = append(kinds, cobra.CompletionWithDesc(strings.ToLower(gvk.Kind)+end,
			gvk.Kind+" of "+gvk.GroupVersion().String()))
	}
	for _, p := range c.completedProgram(cmd).Primaries() {
		if p.ForCluster() {
			continue
		}
		add(p.GVK)
		for _, r := range p.Rules {
			for _, gvk := range r.ChildKinds() {
				if cmd.Name() == "why" {
					add(gvk)
				}
			}
		}
	}
	return distinct(kinds), directive
}

// completedProgram returns the rules that a command line selects, as far as it is
// written. A shell shows no errors: invalid rules have no names.
func (c *completer) completedProgram(cmd *cobra.Command) *rules.Program {
	none := &rules.Program{}
	if cmd.Flags().Lookup("rules") == nil || inProject(cmd, nil) != nil {
		return none
	}
	paths, err := cmd.Flags().GetStringSlice("rules")
	if err != nil || slices.Contains(paths, "-") {
		return none
	}
	recursive, _ := cmd.Flags().GetBool("recursive")
	loaded, err := c.loader.load(ruleFiles{paths: paths, recursive: recursive})
	if err != nil || loaded.Program == nil {
		return none
	}
	return loaded.Program
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
