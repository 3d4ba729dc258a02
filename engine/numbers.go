package engine

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// Learn tells the engine the schemas of the kinds of rules, which say which fields hold decimal numbers. The rules may not be
// active yet. If these fields of a kind have changed, the primaries whose rules use the kind are reconciled. Call it from one
// goroutine at a time.
func (e *Engine) Learn(schemas *kindschema.Set, of *rules.Program) {
	before := e.numberFields()
	now := before.With(schemas, of.UsedKinds())
	e.numbers.Store(&now)
	pl := e.plan.Load()
	if pl == nil {
		return // Nothing was rendered yet.
	}
	for _, pk := range pl.primaries {
		changed := func(gvk schema.GroupVersionKind) bool { return !reflect.DeepEqual(before[gvk], now[gvk]) }
		if pk.usesKind(changed) {
			pk.watch.Replay()
			e.enqueueBundles(pk, pk.Rules)
		}
	}
}

// usesKind reports whether the primaries, or what their rules read, are of one of some kinds.
func (pk *primaryKind) usesKind(some func(schema.GroupVersionKind) bool) bool {
	for gvk := range pk.UsedKinds() {
		if some(gvk) {
			return true
		}
	}
	return pk.next != nil && pk.next.usesKind(some)
}
