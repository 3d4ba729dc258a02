package cli

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"reconcel/rules"
	"reconcel/rules/syntax"
)

// precheckTimeout is how long the start or a reload may wait for what the cluster
// says of its kinds.
const precheckTimeout = 15 * time.Second

// precheck holds rules against the kinds of a cluster before they take effect.
// What cannot work there is an error, what may go wrong is logged. A kind that
// the cluster does not know may come later, and a cluster that does not answer
// is waited for by the engine: neither is in the way.
func (l loading) precheck(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	cluster, err := newLiveCluster(config)
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, precheckTimeout)
	defer cancel()
	for _, w := range syntax.Collect(l.sources, l.idle()) {
		log.Warn("warning about the rules", "warning", w.Error())
	}
	set, err := cluster.schemas(ctx, mentioned(l.program))
	if err != nil {
		log.Warn("the rules cannot be checked against all kinds of the cluster", "cause", err)
	}
	if set == nil {
		return nil
	}
	found := l.check(set)
	found.Errors = append(found.Errors, l.clusterScoped(set)...)
	if wrong := syntax.Collect(l.sources, found.Errors); len(wrong) > 0 {
		return no(wrong)
	}
	for _, w := range syntax.Collect(l.sources, found.Warnings) {
		log.Warn("warning about the rules", "warning", w.Error())
	}
	for _, n := range syntax.Collect(l.sources, found.Notes) {
		log.Debug("note about the rules", "note", n.Error())
	}
	return nil
}

// mentioned returns the groups and versions of all kinds that rules mention.
func mentioned(program *rules.Program) []schema.GroupVersion {
	var all []schema.GroupVersion
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
