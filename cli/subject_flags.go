package cli

import (
	"cmp"

	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
)

// subjectFlags are the flags of commands that explain resources of a cluster, or with -r
// resources of files, which they render.
type subjectFlags struct {
	offlineRules
	atTime
	cluster   clusterFlags
	resources []string
	observed  []string
	only      bool // observed objects exist
	namespace string
}

// flags adds the flags whose meaning is the same for all of the commands.
func (f *subjectFlags) flags(flags *pflag.FlagSet) {
	f.offlineRules.flags(flags, asRun)
	f.atTime.flags(flags)
	f.cluster.flags(flags)
	flags.StringSliceVar(&f.observed, "observed", nil, "`file` or folder of objects that exist, for -r; may be repeated")
	flags.BoolVar(&f.only, "observed-only", false, "only the objects of --observed exist")
}

// check returns what is wrong with the flags together.
func (f *subjectFlags) check() error {
	if len(f.resources) == 0 && (len(f.observed) > 0 || f.only || f.text != "") {
		return exit.Misused("--observed, --observed-only and --time need a resource: give a file with -r")
	}
	return once(f.paths, f.resources, f.crds, f.observed)
}

// prepare reads the resources of files, to be rendered.
func (f *subjectFlags) prepare(loader *loader, out *printer,
	j offline.Judged) (*offline.Renderer, []*files.Object, error) {
	at, err := f.parse()
	if err != nil {
		return nil, nil, err
	}
	return j.Prepare(loader.reader(f.ruleFiles), offline.Request{
		Resources: f.resources, Observed: f.observed, Namespace: cmp.Or(f.namespace, "default"), Exists: existence(f.only),
		Time: at, Say: out.say,
	})
}
