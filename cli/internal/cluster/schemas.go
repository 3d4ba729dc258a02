package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// A Judgement is a verdict with the schemas of a cluster.
type Judgement struct {
	judge.Verdict
	Kinds      *kindschema.Set  // nil if no schema could be read: the verdict is empty then
	By         discover.Schemas // the schemas that the cluster published
	Incomplete error            // why some schemas could not be read
}

// Judge judges rules with the schemas of the cluster.
func (c *Cluster) Judge(ctx context.Context, l *rules.Loaded, policy judge.Policy) (j Judgement) {
	ctx, cancel := context.WithTimeout(ctx, JudgeTimeout)
	defer cancel()
	index, err := c.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		j.Incomplete = fmt.Errorf("read OpenAPI: %w", err)
		return j
	}
	j.By = discover.SchemasIn(index)
	if j.Kinds, j.Incomplete = readSchemas(ctx, index, Versions(l.Program)); j.Kinds != nil {
		j.Verdict = judge.Of(l, j.Kinds, policy)
	}
	return j
}

// readSchemas returns the schemas of the kinds in some versions. It skips versions
// that the cluster does not serve or describe. The set is nil if a schema is
// invalid.
func readSchemas(ctx context.Context, index map[string]openapi.GroupVersionWithContext, versions []schema.GroupVersion) (*kindschema.Set, error) {
	from := kindschema.Sources{OpenAPI: [][]byte{}}
	var unread []error
	for _, gv := range versions {
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.Version
		}
		published, served := index[path]
		if !served {
			continue
		}
		document, err := published.SchemaWithContext(ctx, runtime.ContentTypeJSON)
		if err != nil {
			unread = append(unread, fmt.Errorf("read OpenAPI of %s: %w", gv, err))
			continue
		}
		from.OpenAPI = append(from.OpenAPI, document)
	}
	set, err := kindschema.New(from)
	if err != nil {
		return nil, err
	}
	return set, errors.Join(unread...)
}

// Versions returns the groups and versions of all kinds in the rules.
func Versions(program *rules.Program) (all []schema.GroupVersion) {
	for _, primary := range program.Primaries() {
		all = append(all, primary.GVK.GroupVersion())
		for _, rule := range primary.Rules {
			for _, c := range rule.Children {
				all = append(all, c.GVK.GroupVersion())
			}
			for _, l := range rule.Lookups {
				all = append(all, l.GVK.GroupVersion())
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
