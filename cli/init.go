package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/scaffold"
	"reconcel/engine/discover"
	"reconcel/internal/conversion"
	"reconcel/rules/source"
)

// initFlags are the flags of init.
type initFlags struct {
	kind, apiVersion string
	manifests        []string
	recursive        bool
	chart            string
	values           []string
	live             []string
	cluster          clusterFlags
	name, namespace  string
	folder           string
	interactive      bool
}

// An initCommand makes rules from manifests.
type initCommand struct {
	out     *printer
	loader  *loader
	answers io.Reader // of --interactive
}

func (c initCommand) command() *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init --kind KIND [-f MANIFESTS... | --chart CHART | --live KIND/NAME,...]",
		Short: "Make rules, a CRD, an example and tests from manifests",
		Long: `Make rules from what exists: manifests (-f), a Helm chart (--chart), or objects of a
cluster (--live). Without any of these, init starts with a Deployment and a Service.

init writes rules.yaml, crd.yaml, an example resource and tests.yaml into the current
folder, or that of --dir, and prints their names. It overwrites no file.

Each object becomes a child. Names and labels that begin with the name of the example
become expressions of self.metadata.name, names of other objects become references to
their children. Images, replicas, resources, environment variables, hosts, schedules
and the size of claims become fields of the spec. Their values in the manifests are in
the example, and are the defaults in the schema of the rule, from which the CRD follows
as from "reconcel crd". A table at the top of rules.yaml lists the fields.

Rendering the example gives the manifests back, object for object: init checks that
before it writes. It leaves out status and whatever else the API server sets, and in
objects of a cluster also defaults.

The namespace of the example and CustomResourceDefinitions have to exist before the
resource. They are in prerequisites.yaml. If the manifests have privileged kinds, such
as Role, reconcel.yaml allows them for all commands that run in the folder. init prints
on stderr what you have to know about the result. --interactive asks about each field:
its name, and whether it stays a constant.

A chart is rendered by Helm's own library, without a cluster, by the program
reconcel-convert, which has to be beside reconcel or in PATH. Hooks are left out.

Exit code: 0 the files are written, 1 the manifests are invalid or cannot be rendered
again, 2 wrong usage, 3 a file cannot be read or written, or the cluster does not
answer.`,
		Example: `  reconcel init --kind WebApp
  reconcel init --kind WebApp -f manifests/ --dir webapp
  reconcel init --kind WebApp --chart ./chart --values production.yaml
  reconcel init --kind WebApp --live deployment/web,service/web -n shop`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error { return c.init(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "`kind` that the rules are for, such as WebApp (required)")
	flags.StringVar(&f.apiVersion, "api-version", "example.com/v1alpha1", "`group/version` of the kind")
	flags.StringSliceVarP(&f.manifests, "filename", "f", nil,
		"`file` or folder of manifests, or - for stdin; may be repeated")
	recursiveFlag(flags, &f.recursive)
	flags.StringVar(&f.chart, "chart", "", "`folder` or archive of a Helm chart")
	flags.StringSliceVar(&f.values, "values", nil, "`file` of values for --chart; may be repeated")
	flags.StringSliceVar(&f.live, "live", nil, "`objects` of the cluster as KIND/NAME, separated by commas")
	f.cluster.flags(flags)
	flags.StringVar(&f.name, "name", "", "name of the example (default: what most names begin with, or else the kind)")
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the example and of --live (default: that of most objects; for --live that of the context)")
	flags.StringVar(&f.folder, "dir", ".", "`folder` to write to")
	flags.BoolVarP(&f.interactive, "interactive", "i", false, "ask about each field on the terminal")
	cmd.MarkFlagsMutuallyExclusive("filename", "chart", "live")
	return cmd
}

func (c initCommand) init(f *initFlags) error {
	kind, err := f.definedKind()
	if err != nil {
		return err
	}
	if err := once(f.manifests); err != nil {
		return err
	}
	if f.interactive && slices.Contains(f.manifests, files.Stdin) {
		return exit.Misused("--interactive reads answers from stdin, so -f - is not possible")
	}
	manifests, from, err := c.initManifests(f)
	if err != nil {
		return err
	}
	options := scaffold.Options{Kind: kind, Name: f.name, Namespace: f.namespace, Source: from}
	if f.interactive {
		options.Ask = c.asker()
	}
	project, err := scaffold.New(manifests, options)
	if err != nil {
		if _, positioned := errors.AsType[source.Errors](err); positioned {
			c.out.say("%s: these manifests are invalid, and so are the rules made of them:", from)
		}
		return exit.Wrong(err)
	}
	return c.writeProject(f.folder, project)
}

// definedKind returns the kind that the rules are for.
func (f *initFlags) definedKind() (schema.GroupVersionKind, error) {
	if f.kind == "" {
		return schema.GroupVersionKind{}, exit.Misused("no kind: give one with --kind, such as WebApp")
	}
	gv, err := schema.ParseGroupVersion(f.apiVersion)
	if err != nil || gv.Group == "" || !strings.Contains(gv.Group, ".") {
		return schema.GroupVersionKind{}, exit.Misused(
			"--api-version %q: expected group/version, such as example.com/v1alpha1", f.apiVersion)
	}
	if first := f.kind[0]; first < 'A' || first > 'Z' || strings.ContainsFunc(f.kind, isNotAlphanumeric) {
		return schema.GroupVersionKind{}, exit.Misused(
			"--kind %q: a kind has letters and digits and begins with a capital, such as WebApp", f.kind)
	}
	return gv.WithKind(f.kind), nil
}

func isNotAlphanumeric(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
}

// initManifests returns the manifests, and where they come from.
func (c initCommand) initManifests(f *initFlags) (all []*unstructured.Unstructured, from string, err error) {
	switch {
	case len(f.manifests) > 0:
		all, err = manifestsIn(c.loader.reader(ruleFiles{recursive: f.recursive}), f.manifests)
		return all, strings.Join(f.manifests, ", "), err
	case f.chart != "":
		all, err = c.readChart(f)
		return all, "the chart " + f.chart, err
	case len(f.live) > 0:
		all, err = c.readLive(f)
		return all, strings.Join(f.live, ", "), err
	}
	name := cmp.Or(f.name, strings.ToLower(f.kind))
	all, err = scaffold.Starter(name)
	return all, "a Deployment and a Service to start with", err
}

// manifestsIn reads manifests from files.
func manifestsIn(from files.Reader, paths []string) (all []*unstructured.Unstructured, err error) {
	objects, err := from.Objects(paths)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := o.Check(); err != nil && o.Unstructured.GetGenerateName() == "" {
			return nil, exit.Wrong(err)
		}
		all = append(all, &o.Unstructured)
	}
	return all, nil
}

// writeProject writes new files, and prints their names.
func (c initCommand) writeProject(folder string, p *scaffold.Project) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return exit.Failure(fmt.Errorf("%s: cannot be created: %w", folder, exit.Cause(err)))
	}
	var existing []string
	for _, file := range p.Files {
		if _, err := os.Lstat(filepath.Join(folder, file.Name)); !errors.Is(err, os.ErrNotExist) {
			existing = append(existing, filepath.Join(folder, file.Name))
		}
	}
	if len(existing) > 0 {
		return exit.Failure(fmt.Errorf("%s: there already; remove it, or choose another folder with --dir",
			strings.Join(existing, ", ")))
	}
	var names bytes.Buffer
	for _, file := range p.Files {
		path := filepath.Join(folder, file.Name)
		if err := os.WriteFile(path, file.Data, 0o666); err != nil {
			return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, exit.Cause(err)))
		}
		fmt.Fprintln(&names, path)
	}
	for _, note := range p.Notes {
		c.out.say("note: %s", note)
	}
	return c.out.print(names.Bytes())
}

// readChart returns the manifests of a chart.
func (c initCommand) readChart(f *initFlags) ([]*unstructured.Unstructured, error) {
	args := []string{conversion.Chart}
	if f.name != "" {
		args = append(args, "-name", f.name)
	}
	if f.namespace != "" {
		args = append(args, "-namespace", f.namespace)
	}
	for _, file := range f.values {
		args = append(args, "-values", file)
	}
	out, err := runConvert("render the chart", nil, append(args, f.chart)...)
	if err != nil {
		return nil, err
	}
	return manifestsIn(files.Reader{Stdin: bytes.NewReader(out)}, []string{files.Stdin})
}

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

// readLive returns the objects of --live.
func (c initCommand) readLive(f *initFlags) ([]*unstructured.Unstructured, error) {
	var targets []cluster.Target
	for _, text := range f.live {
		target, ok := cluster.ParseTarget(text)
		if !ok || target.Name == "" {
			return nil, exit.Misused("--live %q: expected KIND/NAME, such as deployment/web", text)
		}
		targets = append(targets, target)
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return nil, err
	}
	f.namespace = cmp.Or(f.namespace, namespace)
	ctx, stop := untilSignal()
	defer stop()
	all, err := liveObjects(ctx, live, f.namespace, targets)
	if err = interrupted(ctx, err); err != nil {
		return nil, exit.Failure(err)
	}
	return all, nil
}

func liveObjects(ctx context.Context, live *cluster.Cluster, namespace string,
	targets []cluster.Target) (all []*unstructured.Unstructured, err error) {
	served, incomplete, err := live.Served(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		i := slices.IndexFunc(served, func(k discover.Kind) bool { return target.IsOf(k.GVK, &k) })
		switch {
		case i < 0 && incomplete != nil:
			return nil, fmt.Errorf("%s: %w", target.Text, incomplete)
		case i < 0:
			return nil, fmt.Errorf("%s: the API server does not serve such a kind", target.Text)
		}
		u, err := live.Named(ctx, &served[i], namespace, target)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}
