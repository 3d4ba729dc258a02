package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/engine/inventory"
	"reconcel/internal/disk"
	"reconcel/rules"
)

// ruleFiles are the flags that select rules files.
type ruleFiles struct {
	paths     []string
	recursive bool
	written   string // the file that the command writes, or ""
}

func (r *ruleFiles) flags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&r.paths, "rules", "f", nil, "`file` or folder of rules, or - for stdin; may be repeated")
	recursiveFlag(flags, &r.recursive)
}

// recursiveFlag adds -R, which applies to all folders of a command.
func recursiveFlag(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "recursive", "R", false, "include subfolders")
}

// A loader reads rules and what else is in files.
type loader struct {
	stdin io.Reader
	seen  func(path string) // called for what it reads; may be nil
}

func (l *loader) reader(of ruleFiles) files.Reader {
	return files.Reader{Stdin: l.stdin, Recursive: of.recursive, Written: of.written, Seen: l.seen}
}

func (l *loader) load(r ruleFiles) (*rules.Loaded, error) {
	if err := r.given(); err != nil {
		return nil, err
	}
	loaded, _ := offline.Load(l.reader(r), r.paths)
	return loaded, nil
}

// given returns an error unless rules are given.
func (r *ruleFiles) given() error {
	if len(r.paths) == 0 {
		return exit.Misused("no rules: give a file or folder with -f")
	}
	return nil
}

// haveFolders reports whether the rules are those of a folder.
func (r *ruleFiles) haveFolders() bool {
	return slices.ContainsFunc(r.paths, func(path string) bool {
		at, err := disk.Stat(path)
		return err == nil && at.IsDir()
	})
}

// namespaceList is a flag that names the namespaces to watch. Without the flag,
// reconcel watches all namespaces. An empty value of the flag or in reconcel.yaml is an
// error, so that a mistake never widens the scope. An empty variable is as one that is not set.
type namespaceList []string

func (n *namespaceList) flag(flags *pflag.FlagSet, usage string) {
	flags.Var(n, "namespaced", usage)
}

// String implements pflag.Value.
func (n *namespaceList) String() string { return strings.Join(*n, ",") }

// Type implements pflag.Value.
func (n *namespaceList) Type() string { return "namespaces" }

// Set implements pflag.Value. It adds names that are separated by commas.
func (n *namespaceList) Set(s string) error { return n.add(strings.Split(s, ",")) }

// Append implements pflag.SliceValue.
func (n *namespaceList) Append(s string) error { return n.add([]string{s}) }

// GetSlice implements pflag.SliceValue.
func (n *namespaceList) GetSlice() []string { return *n }

// Replace implements pflag.SliceValue.
func (n *namespaceList) Replace(names []string) error {
	if len(names) == 0 {
		return errors.New("it names no namespace; omit it to watch all namespaces")
	}
	*n = nil
	return n.add(names)
}

func (n *namespaceList) add(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%q is not the name of a namespace (write names separated by commas: team-a,team-b)", name)
		}
		if !slices.Contains(*n, name) {
			*n = append(*n, name)
		}
	}
	return nil
}

// validInstallation returns an error if no installation can have this namespace and name: the API
// server would reject all of its own objects, and the process would wait for ever.
func validInstallation(namespace, name string) error {
	if why := validation.IsDNS1123Label(namespace); namespace != "" && len(why) > 0 {
		return exit.Misused("--namespace %q: %s", namespace, strings.Join(why, ", "))
	}
	if why := validation.IsDNS1123Subdomain(inventory.Name(name)); len(why) > 0 {
		return exit.Misused("--name %q: %s", name, strings.Join(why, ", "))
	}
	return nil
}

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

// atTime is the flag of commands that render without a cluster: when they do.
type atTime struct{ text string }

func (f *atTime) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.text, "time", "", "`time` at which to render, such as 2026-01-02T03:04:05Z (default now, or the "+
		"creation of resources without a creationTimestamp)")
}

// parse returns the time at which to render, or the zero time.
func (f *atTime) parse() (time.Time, error) {
	if f.text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, f.text)
	if err != nil {
		return time.Time{}, exit.Misused("--time: %q is not a time, such as 2026-01-02T03:04:05Z", f.text)
	}
	return at, nil
}
