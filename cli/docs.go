package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

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

// A docsCommand writes pages for the users of kinds.
type docsCommand struct {
	out    *printer
	loader *loader
}

func (c docsCommand) command() *cobra.Command {
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
that reconcel crd derives from the rules. Simple conditions are put into words. All other
expressions are shown as the rules have them, and the page explains the names in them.

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
		RunE:    func(*cobra.Command, []string) error { return c.docs(f) },
	}
	flags := cmd.Flags()
	f.ruleFiles.flags(flags)
	flags.StringSliceVar(&f.crds, "crd", nil,
		"`file` or folder of CustomResourceDefinitions; may be repeated (default: those in the folders of rules)")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only this `kind`, such as WebApp; may be repeated (default: all)")
	flags.StringVar(&f.folder, "dir", "", "`folder` to write a file for each kind to")
	return cmd
}

func (c docsCommand) docs(f *docsFlags) error {
	loaded, kinds, err := c.loader.loadWithKinds(f.ruleFiles, f.crds)
	if err != nil {
		return err
	}
	primaries, err := f.primaries(loaded)
	if err != nil {
		return err
	}
	described, err := described(loaded, kinds)
	if err != nil {
		return err
	}
	pages, err := reference.Pages(described, primaries)
	if err != nil {
		return exit.Wrong(err)
	}
	if f.folder != "" {
		return c.writePages(f.folder, pages)
	}
	text, err := reference.Write(pages)
	if err != nil {
		return exit.Failure(err)
	}
	return c.out.print(text)
}

// primaries returns the kinds that have a page.
func (f *docsFlags) primaries(loaded *rules.Loaded) ([]*rules.Primary, error) {
	all := slices.DeleteFunc(slices.Clone(loaded.Program.Primaries()), (*rules.Primary).ForCluster)
	if len(all) == 0 {
		return nil, exit.Wrong(fmt.Errorf("no rule is for a kind of resources: %s", namesOf(loaded)))
	}
	selects := func(kind string, p *rules.Primary) bool {
		target, ok := cluster.ParseTarget(kind)
		return ok && target.Name == "" && target.IsOf(p.GVK, nil)
	}
	for _, kind := range f.kinds {
		if !slices.ContainsFunc(all, func(p *rules.Primary) bool { return selects(kind, p) }) {
			return nil, exit.Misused("--kind %q: no rule is for that kind", kind)
		}
	}
	return slices.DeleteFunc(all, func(p *rules.Primary) bool {
		return len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds, func(kind string) bool { return selects(kind, p) })
	}), nil
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
func (c docsCommand) writePages(folder string, pages []*reference.Page) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return exit.Failure(err)
	}
	for _, p := range pages {
		path := filepath.Join(folder, fileOf(p, pages)+".md")
		text, err := reference.Write([]*reference.Page{p})
		if err != nil {
			return exit.Failure(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, exit.Cause(err)))
		}
		if err := c.out.print([]byte(path + "\n")); err != nil {
			return err
		}
	}
	return nil
}

// fileOf returns the name of the file of a page, with the group if several have the kind.
func fileOf(p *reference.Page, pages []*reference.Page) string {
	name := string(p.Anchor)
	for _, other := range pages {
		if other != p && other.Kind == p.Kind {
			return name + "." + p.Group
		}
	}
	return name
}
