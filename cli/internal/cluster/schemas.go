package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"reconcel/cli/internal/judge"
	"reconcel/engine/discover"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// JudgeTimeout limits the time for reading the schemas of a cluster.
const JudgeTimeout = 15 * time.Second

// A Judgement is a result with the schemas of a cluster.
type Judgement struct {
	judge.Result
	Kinds      *kindschema.Set  // nil if no schema could be read: the result is empty then
	By         discover.Schemas // the schemas that the cluster published
	Incomplete error            // why some schemas could not be read
	Partial    bool             // only the changed rules were judged, and the others were accepted before
}

// Judge judges rules with the schemas of the cluster. The judgement also has the kinds of
// other programs.
func (c *Cluster) Judge(ctx context.Context, l *rules.Loaded, policy judge.Policy, others ...*rules.Program) Judgement {
	return c.judge(ctx, l, policy, nil, others)
}

// JudgeChanged judges the rules that Recompile has compiled again. The other rules were accepted
// with the schemas in accepted. If one of these has changed, all rules are judged.
func (c *Cluster) JudgeChanged(ctx context.Context, l *rules.Loaded, policy judge.Policy,
	accepted discover.Schemas) Judgement {
	return c.judge(ctx, l, policy, accepted, nil)
}

func (c *Cluster) judge(ctx context.Context, l *rules.Loaded, policy judge.Policy, accepted discover.Schemas,
	others []*rules.Program) (j Judgement) {
	ctx, cancel := context.WithTimeout(ctx, JudgeTimeout)
	defer cancel()
	index, err := c.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		j.Incomplete = fmt.Errorf("read OpenAPI: %w", err)
		return j
	}
	j.By = discover.SchemasIn(index)
	j.Kinds, j.Incomplete = readSchemas(ctx, index, Versions(append(others, l.Program)...))
	j.Partial = accepted != nil && j.Incomplete == nil && j.By.Agree(accepted, Versions(l.Program))
	switch {
	case j.Kinds == nil:
	case j.Partial:
		j.Result = judge.OfChanged(l, j.Kinds, policy)
	default:
		j.Result = judge.Of(l, j.Kinds, policy)
	}
	return j
}

// NumberFields returns the number fields of some kinds. A kind whose schema cannot be read has none,
// and is reported where it is read.
func (c *Cluster) NumberFields(ctx context.Context,
	kinds map[schema.GroupVersionKind]bool) (known kindschema.NumberFields, err error) {
	for gvk := range kinds {
		if kindschema.BuiltInGroup(gvk.Group) || gvk == rules.BundleKind {
			continue
		}
		set, err := c.schemas.get(gvk.GroupVersion(), func() (*kindschema.Set, error) {
			ctx, cancel := context.WithTimeout(ctx, JudgeTimeout)
			defer cancel()
			index, err := c.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
			if err != nil {
				return nil, fmt.Errorf("read OpenAPI: %w", err)
			}
			set, _ := readSchemas(ctx, index, []schema.GroupVersion{gvk.GroupVersion()})
			return set, nil
		})
		if err != nil {
			return nil, err
		}
		if set != nil {
			known = known.With(set, map[schema.GroupVersionKind]bool{gvk: true})
		}
	}
	return known, nil
}

// readSchemas returns the schemas of the kinds in some versions. It skips versions
// that the cluster does not serve or describe. The set is nil if a schema is
// invalid.
func readSchemas(ctx context.Context, index map[string]openapi.GroupVersionWithContext,
	versions []schema.GroupVersion) (*kindschema.Set, error) {
	documents, unread := make([][]byte, len(versions)), make([]error, len(versions))
	var reading sync.WaitGroup
	for i, gv := range versions {
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.Version
		}
		published, served := index[path]
		if !served {
			continue
		}
		reading.Go(func() { // At the same time: a backend that does not answer must not hold up the others.
			document, err := published.SchemaWithContext(ctx, runtime.ContentTypeJSON)
			if err != nil {
				unread[i] = fmt.Errorf("read OpenAPI of %s: %w", gv, err)
				return
			}
			documents[i] = document
		})
	}
	reading.Wait()
	from := kindschema.Sources{OpenAPI: slices.DeleteFunc(documents, func(d []byte) bool { return d == nil })}
	set, err := kindschema.New(from)
	if err != nil {
		return nil, err
	}
	return set, errors.Join(unread...)
}

// Versions returns the groups and versions of all kinds in the rules.
func Versions(programs ...*rules.Program) (all []schema.GroupVersion) {
	for _, program := range programs {
		for gvk := range program.UsedKinds() {
			if gvk != rules.BundleKind { // The API server serves no bundles.
				all = append(all, gvk.GroupVersion())
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
