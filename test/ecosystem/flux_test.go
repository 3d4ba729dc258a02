package ecosystem

import (
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// flux applies a folder with Flux's own library, as kustomize-controller does it with prune.
type flux struct{ inventory object.ObjMetadataSet } // of what was applied

func (f *flux) apply(r *repository, folder []*unstructured.Unstructured) (changed []string, err error) {
	all := copies(folder)
	if err := normalize.UnstructuredList(all); err != nil {
		return nil, err
	}
	r.flux.SetOwnerLabels(all, "shop", "flux-system")
	options := ssa.DefaultApplyOptions()
	options.WaitInterval, options.WaitTimeout = 20*time.Millisecond, r.patience
	changes, err := r.flux.ApplyAllStaged(r.Context(), all, options)
	if err != nil {
		return nil, err
	}
	var stale []*unstructured.Unstructured
	for _, id := range f.inventory.Diff(changes.ToObjMetadataSet()) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(id.GroupKind.WithVersion("v1alpha1")) // Only Rules and Foos are removed.
		u.SetName(id.Name)
		u.SetNamespace(id.Namespace)
		stale = append(stale, u)
	}
	pruning := ssa.DefaultDeleteOptions()
	pruning.Inclusions = r.flux.GetOwnerLabels("shop", "flux-system")
	pruned, err := r.flux.DeleteAll(r.Context(), stale, pruning)
	if err != nil {
		return nil, err
	}
	f.inventory = changes.ToObjMetadataSet()
	for _, e := range slices.Concat(changes.Entries, pruned.Entries) {
		if e.Action != ssa.UnchangedAction {
			changed = append(changed, e.String())
		}
	}
	return changed, nil
}

func copies(folder []*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for _, u := range folder {
		all = append(all, u.DeepCopy())
	}
	return all
}
