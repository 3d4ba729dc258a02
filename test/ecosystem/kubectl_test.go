package ecosystem

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectl applies the CRDs, and then the other objects with `kubectl apply --prune`.
type kubectl struct{ folder string }

// label marks what kubectl may prune.
const label = "example.com/repository"

func (k *kubectl) apply(r *repository, folder []*unstructured.Unstructured) ([]string, error) {
	if k.folder == "" {
		k.folder = r.TempDir()
	}
	var definitions, others []*unstructured.Unstructured
	for _, u := range copies(folder) {
		if u.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, u)
			continue
		}
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[label] = r.namespace
		u.SetLabels(labels)
		others = append(others, u)
	}
	changed, err := k.run(r, definitions, "--server-side", "--force-conflicts")
	if err != nil {
		return nil, err
	}
	more, err := k.run(r, others, "--prune", "--selector="+label+"="+r.namespace, "--prune-allowlist=reconcel.dev/v1alpha1/Rules",
		r.fill("--prune-allowlist=samplecontroller.k8s.io/v1alpha1/Foo"))
	return slices.Concat(changed, more), err
}

// run runs kubectl apply. What it applies on the side of the server, it does not compare.
func (k *kubectl) run(r *repository, all []*unstructured.Unstructured, args ...string) (changed []string, err error) {
	var texts bytes.Buffer
	for _, u := range all {
		text, err := u.MarshalJSON()
		if err != nil {
			return nil, err
		}
		texts.WriteString("---\n" + string(text))
	}
	file := filepath.Join(k.folder, "applied.yaml")
	if err := os.WriteFile(file, texts.Bytes(), 0o600); err != nil {
		return nil, err
	}
	var out, problems bytes.Buffer
	flags := apply.NewApplyFlags(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &problems})
	command := &cobra.Command{}
	flags.AddFlags(command)
	if err := command.ParseFlags(append(args, "--filename="+file)); err != nil {
		return nil, err
	}
	config, seen := genericclioptions.NewConfigFlags(false).WithDiscoveryQPS(-1), filepath.Join(k.folder, "cache")
	config.KubeConfig, config.CacheDir = &r.kubeconfig, &seen
	options, err := flags.ToOptions(util.NewFactory(config), command, "kubectl", nil)
	if err != nil {
		return nil, err
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if err := options.Run(); err != nil {
		return nil, fmt.Errorf("kubectl apply: %w: %s", err, problems.String())
	}
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, " unchanged") && !strings.HasSuffix(line, " serverside-applied") {
			changed = append(changed, line)
		}
	}
	return changed, nil
}
