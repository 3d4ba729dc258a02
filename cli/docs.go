package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/reference"
	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/infer"
	"reconcel/rules/source"
)

// docsFlags are the flags of docs.
type docsFlags struct {
	ruleFiles
	crds   []string
	kinds  []string
	folder string
}

func (a *app) docsCommand() *cobra.Command {
	f := &docsFlags{}
	cmd := &cobra.Command{
		Use:   "docs -f RULES...",
		Short: "Write pages for the users of the kinds that rules are for",
		Long: `Write a page for each kind that the rules are for. Its readers create resources of the
kind, and do not see the rules. The page has:

  - names, versions and columns of the kind, and a small example
  - the fields with types, defaults and limits, and what is checked
  - the objects that are created: names, when they exist and when they are ready
  - which other objects have to exist, and what happens on deletion
  - the fields of the status, the conditions and their reasons

Fields and their descriptions come from the CRDs (--crd). A kind without one has the CRD
that reconcel crd derives from the rules. Usual expressions are put into words, and all
others are shown as the rules have them.

All pages go to stdout as one document, or with --dir each into a file of its own, such
as webapp.md. --dir overwrites these files, and prints their names. No cluster and no
kubeconfig is read.

Exit code: 0 the pages are written, 1 the rules or a CRD have errors, 2 wrong usage, 3 a
file cannot be read or written.`,
		Example: `  reconcel docs -f rules/ --crd crds/ > REFERENCE.md
  reconcel docs -f examples/webapp/rules.yaml --crd crds/ --kind WebApp > webapp.md
  reconcel docs -f rules/ --crd crds/ --dir docs/kinds`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return a.docs(f) },
	}
	flags := cmd.Flags()
	f.ruleFiles.flags(flags)
	flags.StringSliceVar(&f.crds, "crd", nil, "`file` or folder of CustomResourceDefinitions; may be repeated (default: those in the folders of rules)")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only this `kind`, such as WebApp; may be repeated (default: all)")
	flags.StringVar(&f.folder, "dir", "", "`folder` to write a file for each kind to")
	return cmd
}

func (a *app) docs(f *docsFlags) error {
	loaded, kinds, err := a.loadWithKinds(f.ruleFiles, f.crds)
	if err != nil {
		return err
	}
	wanted, err := f.wanted(loaded.Program)
	if err != nil {
		return err
	}
	described, err := described(loaded, kinds)
	if err != nil {
		return err
	}
	pages, err := reference.Pages(described, wanted)
	switch {
	case err != nil:
		return exit.Wrong(err)
	case len(pages) == 0:
		return exit.Wrong(fmt.Errorf("no rule is for a kind of resources: %s", namesOf(loaded)))
	case f.folder != "":
		return a.writePages(f, pages)
	}
	return a.print(reference.Markdown(pages))
}

// wanted returns which kinds --kind selects.
func (f *docsFlags) wanted(program *rules.Program) (func(runtimeschema.GroupVersionKind) bool, error) {
	var targets []cluster.Target
	for _, kind := range f.kinds {
		target, ok := cluster.ParseTarget(kind)
		found := false
		for _, p := range program.Primaries() {
			found = found || !p.ForCluster() && target.IsOf(p.GVK, nil)
		}
		if !ok || target.Name != "" || !found {
			return nil, exit.Misused("--kind %q: no rule is for that kind", kind)
		}
		targets = append(targets, target)
	}
	return func(gvk runtimeschema.GroupVersionKind) bool {
		for _, t := range targets {
			if t.IsOf(gvk, nil) {
				return true
			}
		}
		return len(targets) == 0
	}, nil
}

// described returns the rules with the CRDs of their kinds. Those that are not given are
// derived from the rules.
func described(loaded *rules.Loaded, kinds offline.Kinds) (reference.Source, error) {
	from := reference.Source{Loaded: loaded, Kinds: kinds.Set, Definitions: map[runtimeschema.GroupKind]map[string]any{},
		ExcludedWith: check.Check(loaded.File, kinds.Set, nil).ExcludedWith}
	for _, p := range loaded.Program.Primaries() {
		if crd := kinds.Definition(p.GVK.GroupKind()); crd != nil {
			from.Definitions[p.GVK.GroupKind()] = crd
		}
	}
	if len(kinds.Undescribed(loaded.Program)) == 0 {
		return from, nil
	}
	derived, mistakes, err := infer.Kinds(loaded.File, kinds.Set)
	switch {
	case err != nil:
		return from, exit.Wrong(err)
	case len(mistakes) > 0:
		return from, exit.Wrong(source.Collect(loaded.Sources, mistakes))
	}
	var crds []map[string]any
	for _, d := range derived {
		if gk := d.GVK.GroupKind(); from.Definitions[gk] == nil {
			crd, err := d.Object()
			if err != nil {
				return from, exit.Failure(err)
			}
			from.Definitions[gk] = crd
			crds = append(crds, crd)
		}
	}
	if from.Kinds, err = kinds.With(crds); err != nil {
		return from, exit.Failure(err)
	}
	return from, nil
}

// writePages writes each page into a file of its own.
func (a *app) writePages(f *docsFlags, pages []*reference.Page) error {
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return exit.Failure(err)
	}
	for _, p := range pages {
		path := filepath.Join(f.folder, fileOf(p, pages)+".md")
		if err := os.WriteFile(path, reference.Markdown([]*reference.Page{p}), 0o644); err != nil {
			return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, exit.Cause(err)))
		}
		if err := a.print([]byte(path + "\n")); err != nil {
			return err
		}
	}
	return nil
}

// fileOf returns the name of the file of a page, with the group if several have the kind.
func fileOf(p *reference.Page, pages []*reference.Page) string {
	name := strings.ToLower(p.Kind)
	for _, other := range pages {
		if other != p && other.Kind == p.Kind {
			return name + "." + p.Group
		}
	}
	return name
}
