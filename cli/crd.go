package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/offline"
	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/crd"
	"reconcel/rules/infer"
	"reconcel/rules/source"
)

// crdFlags are the flags of crd.
type crdFlags struct {
	ruleFiles
	crds    []string
	merge   string
	objects bool // the CRD of Rules objects
}

// A crdCommand prints the CRDs of the kinds that rules are for.
type crdCommand struct {
	out    *printer
	loader *loader
}

func (c crdCommand) command() *cobra.Command {
	f := &crdFlags{}
	cmd := &cobra.Command{
		Use:   "crd {-f RULES... | --rules-objects}",
		Short: "Print the CRDs of the kinds that rules are for",
		Long: `Print a CustomResourceDefinition for each custom kind that the rules are for.

The types of fields follow from their use: a field that becomes the replicas of a
Deployment is an int32 with that field's description, and orValue(2) is a default. A
field that is read without a guard is required. Checks of validate that only read
fields outside metadata and status become x-kubernetes-validations of the field that they
are about. The schema of a rule says more, and takes precedence.

The CRD has conditions, printer columns and the subresource status, and scale if spec
and status have replicas. A field whose type is unknown keeps every value, and
has a comment that says where it is read. Comments also suggest enums.

--merge adds what is missing to a CRD that you have edited, and keeps everything in it,
also comments. What it adds that stored objects may not satisfy is named on stderr, and
what differs from the rules.

--rules-objects prints another CRD: that of Rules, the objects with which run
--rules-objects reads rules from the cluster. It depends on no rules, and keeps keys
that only another version of reconcel knows.

-o writes the CRDs into a file, in one step: if the rules are invalid, the file stays as
it is. The file may be that of --merge, and be in the folder of the rules.

The kinds of other objects come from --crd. No cluster and no kubeconfig is read.

Exit code: 0 the CRDs are printed, 1 the rules or the CRD have errors, 2 wrong usage, 3
a file cannot be read.`,
		Example: `  reconcel crd -f examples/foo/rules.yaml -o crd.yaml
  reconcel crd -f examples/foo/rules.yaml --merge crd.yaml -o crd.yaml
  reconcel crd --rules-objects | kubectl apply -f -`,
		Args: flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.objects { // Not as a setting of run.
				return c.rulesDefinition(f)
			}
			if err := inProject(cmd, nil); err != nil {
				return err
			}
			return c.crd(f)
		},
	}
	flags := cmd.Flags()
	f.ruleFiles.flags(flags)
	writtenFlag(flags, &f.written)
	flags.StringSliceVar(&f.crds, "crd", nil,
		"`file` or folder of the CustomResourceDefinitions of other kinds; may be repeated (default: those in the folders "+
			"of rules)")
	flags.StringVar(&f.merge, "merge", "", "`file` with a CustomResourceDefinition to add to")
	flags.BoolVar(&f.objects, "rules-objects", false, "the CRD of Rules, for run --rules-objects")
	for _, other := range []string{"rules", "crd", "merge"} {
		cmd.MarkFlagsMutuallyExclusive("rules-objects", other)
	}
	return cmd
}

// loadWithKinds loads valid rules, with the kinds of the CRDs: by default, of those beside
// the rules.
func (l *loader) loadWithKinds(files ruleFiles, crds []string) (*rules.Loaded, offline.Kinds, error) {
	if err := once(files.paths, crds); err != nil {
		return nil, offline.Kinds{}, err
	}
	loaded, err := l.load(files)
	if err != nil {
		return nil, offline.Kinds{}, err
	}
	if err := loaded.Errors.Err(); err != nil {
		return nil, offline.Kinds{}, &exit.Error{Code: rejectedCode(loaded), Err: err}
	}
	from := l.reader(files)
	if len(crds) == 0 {
		crds = from.Definitions(files.paths)
	}
	kinds, err := offline.ReadKinds(from, crds)
	return loaded, kinds, err
}

// rulesDefinition prints the CRD of Rules.
func (c crdCommand) rulesDefinition(f *crdFlags) error {
	text, err := deploy.RulesDefinition().YAML()
	if err != nil {
		return exit.Failure(err)
	}
	return c.out.deliver(text, f.written)
}

func (c crdCommand) crd(f *crdFlags) error {
	loaded, kinds, err := c.loader.loadWithKinds(f.ruleFiles, f.crds)
	if err != nil {
		return err
	}
	found, mistakes, err := infer.Kinds(loaded.File, kinds.Set)
	switch {
	case err != nil:
		return exit.Wrong(err)
	case len(mistakes) > 0:
		return exit.Wrong(source.Collect(loaded.Sources, mistakes))
	case len(found) == 0:
		return exit.Wrong(fmt.Errorf("no rule is for a custom kind: %s", namesOf(loaded)))
	case f.merge != "":
		return c.mergeCRD(f, found)
	}
	var b bytes.Buffer
	for i, d := range found {
		text, err := d.YAML()
		if err != nil {
			return exit.Failure(err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return c.out.deliver(b.Bytes(), f.written)
}

func namesOf(l *rules.Loaded) string {
	if len(l.Sources) == 1 {
		return l.Sources[0].Name
	}
	return fmt.Sprintf("%d files", len(l.Sources))
}

// mergeCRD prints a CRD with what the rules add to it.
func (c crdCommand) mergeCRD(f *crdFlags, found []*crd.Definition) error {
	path := f.merge
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return exit.Failure(fmt.Errorf("%s: cannot be read: %w", path, exit.Cause(err)))
	case len(text) == 0:
		return exit.Wrong(fmt.Errorf("%s: file is empty: restore it, and merge with --merge %s -o %s, because > empties it "+
			"first", path, path, path))
	}
	merged, notes, err := crd.Merge(text, found)
	if err != nil {
		return exit.Wrong(fmt.Errorf("%s: %w", path, err))
	}
	for _, n := range notes {
		c.out.say("%s: %s", path, n)
	}
	return c.out.deliver(merged, f.written)
}
