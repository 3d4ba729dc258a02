package rules

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/projection"
)

// lastApplied is the annotation in which kubectl keeps the whole object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Reads are the fields that a program and the engine read of the objects of each kind.
// They never include metadata.managedFields and kubectl's copy of the object, which rules
// do not see.
type Reads struct{ primary, child, lookup roleReads }

// roleReads are the fields that are read of objects in a role.
type roleReads struct {
	kinds  map[schema.GroupVersionKind]*projection.Projection
	others *projection.Projection // of kinds that are not in the rules
}

// Primary returns what is read of the primaries of a kind.
func (r Reads) Primary(gvk schema.GroupVersionKind) *projection.Projection { return r.primary.of(gvk) }

// Child returns what is read of the children of a kind, also of one that the rules no
// longer render.
func (r Reads) Child(gvk schema.GroupVersionKind) *projection.Projection { return r.child.of(gvk) }

// Lookup returns what is read of the objects of a kind in lookups.
func (r Reads) Lookup(gvk schema.GroupVersionKind) *projection.Projection { return r.lookup.of(gvk) }

func (r roleReads) of(gvk schema.GroupVersionKind) *projection.Projection {
	if p := r.kinds[gvk]; p != nil {
		return p
	}
	return r.others
}

// VisibleToRules keeps everything but the fields that rules never see.
func VisibleToRules() *projection.Projection { return hide(projection.Whole()) }

func hide(p *projection.Projection) *projection.Projection {
	return p.Without("metadata", "managedFields").Without("metadata", "annotations", lastApplied)
}

// newObjectReads keeps what is read of any object.
func newObjectReads() *projection.Builder {
	b := &projection.Builder{}
	b.KeepFields("apiVersion", "kind")
	b.Field("metadata").KeepFields("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers")
	return b
}

// newWholeMetadataReads also keeps what identifies an object, and what selectors of rules and
// lookups read.
func newWholeMetadataReads() *projection.Builder {
	b := newObjectReads()
	b.Field("metadata").KeepFields("name", "namespace", "generateName", "uid", "resourceVersion", "creationTimestamp",
		"ownerReferences", "labels", "annotations")
	return b
}

// newChildReads also keeps what says to whom a child belongs. Its name, controller and
// AnnotationApplied are not part of it: a cache keeps apart what differs between children, so
// that they can share the rest.
func newChildReads() *projection.Builder {
	b := newObjectReads()
	b.Below("metadata", "labels").KeepFields(LabelRule, LabelChild)
	b.Below("metadata", "annotations").KeepPrefix(SharePrefix)
	b.Below("metadata", "annotations").KeepFields(AnnotationInstallation, AnnotationOwner, AnnotationShared,
		AnnotationCreated,
		AnnotationOrphan, AnnotationIndex,
		AnnotationRotate, AnnotationRotated, AnnotationReconciledAt)
	return b
}

// builders collect the reads of each kind in a role.
type builders struct {
	kinds map[schema.GroupVersionKind]*projection.Builder
	empty func() *projection.Builder // what is always read
}

func (bs builders) of(gvk schema.GroupVersionKind) *projection.Builder {
	if bs.kinds[gvk] == nil {
		bs.kinds[gvk] = bs.empty()
	}
	return bs.kinds[gvk]
}

func (bs builders) projections() roleReads {
	out := roleReads{kinds: make(map[schema.GroupVersionKind]*projection.Projection, len(bs.kinds)),
		others: hide(bs.empty().Projection())}
	for gvk, b := range bs.kinds {
		out.kinds[gvk] = hide(b.Projection())
	}
	return out
}

// ReadsOf returns what any of two programs reads.
func ReadsOf(p, q *Program) Reads {
	if p == q {
		return p.reads
	}
	return (&Program{primaries: slices.Concat(p.primaries, q.primaries)}).computeReads()
}

// computeReads traces all rules.
func (p *Program) computeReads() Reads {
	collect := func(empty func() *projection.Builder) builders {
		return builders{map[schema.GroupVersionKind]*projection.Builder{}, empty}
	}
	primaries, children, lookups := collect(newWholeMetadataReads), collect(newChildReads), collect(newWholeMetadataReads)
	for _, primary := range p.primaries {
		for _, r := range primary.Rules {
			t := &ruleTracer{rule: r, self: primaries.of(r.GVK), lets: map[int]*expr.Origin{}}
			for _, c := range r.Children {
				t.children = append(t.children, children.of(c.GVK))
			}
			for _, l := range r.Lookups {
				t.lookups = append(t.lookups, lookups.of(l.GVK))
			}
			t.trace()
			for i, l := range r.Lookups {
				if l.mayHavePrimary && l.GVK == r.GVK { // What is read of the primary through it, is read of self.
					t.lookups[i], t.lets = t.self, map[int]*expr.Origin{}
					t.trace()
				}
			}
		}
	}
	return Reads{primary: primaries.projections(), child: children.projections(), lookup: lookups.projections()}
}

// UsedKinds returns the kinds of the primaries, children and lookups.
func (p *Program) UsedKinds() map[schema.GroupVersionKind]bool {
	used := map[schema.GroupVersionKind]bool{}
	for _, primary := range p.primaries {
		maps.Copy(used, primary.UsedKinds())
	}
	return used
}

// UsedKinds returns the kinds of the primaries, children and lookups of the rules.
func (p *Primary) UsedKinds() map[schema.GroupVersionKind]bool {
	used := map[schema.GroupVersionKind]bool{p.GVK: true}
	for _, rule := range p.Rules {
		for _, child := range rule.Children {
			used[child.GVK] = true
		}
		for _, lookup := range rule.Lookups {
			used[lookup.GVK] = true
		}
	}
	return used
}
