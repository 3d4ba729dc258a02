package rules

import (
	"fmt"
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An expansion lists the objects of a child and their identities.
type expansion struct {
	*runState
	settling    *settling
	evaluator   *evaluator
	texts       *texts
	liveObjects *liveObjects
	loops       *loops
}

// listChildren resets the results of the rule's children.
func (r *expansion) listChildren() {
	children := resize(r.result.Children, len(r.rule.Children))
	for i := range children {
		c := &children[i]
		*c = ChildResult{Child: r.rule.Children[i], Waits: c.Waits[:0], Objects: c.Objects[:0], Finished: c.Finished[:0],
			MaxUnavailable: 1}
	}
	r.result.Children = children
}

// prepareChild decides which objects a child has, when they are first needed.
func (r *expansion) prepareChild(c *ChildResult) {
	if c.prepared || c.preparing {
		return
	}
	c.preparing = true
	outer := r.current
	r.current = nil
	r.expandChild(c)
	r.current = outer
	c.prepared, c.preparing = true, false
	if c.State == Waiting || c.State == Failed {
		for i := range c.Objects {
			d := &c.Objects[i]
			d.State, d.Err, d.Waits = c.State, c.Err, append(d.Waits[:0], c.Waits...)
		}
	}
}

// expandChild decides whether a child should exist, and with which objects.
func (r *expansion) expandChild(c *ChildResult) {
	if c.Child.Timeout > 0 && !r.result.Teardown {
		c.State = Excluded // Entries of finalize wait for the deletion of the primary.
		return
	}
	if p := c.Child.when; p != nil {
		yes, res := r.evaluator.evalBool(p)
		switch {
		case !res.ok():
			r.settling.settleAll(c, "when", res)
		case !yes:
			c.State = Excluded
		}
		if c.State == Excluded {
			return
		}
	}
	c.included = c.State == Rendered
	if p := c.Child.unavailable; p != nil {
		var res result // While it is not known, it is 1, and the child does not wait for it.
		if c.MaxUnavailable, res = r.evaluator.wholeNumber(p, 1, c.Child); res.err != nil {
			r.settling.settleAll(c, "maxUnavailable", res)
		}
	}
	if c.Child.Sequential {
		c.MaxUnavailable = math.MaxInt // Those after the one that is replaced wait anyway, available or not.
	}
	switch {
	case c.Child.replicas != nil:
		r.expandReplicas(c)
	case len(c.Child.iterators) > 0:
		r.expandEach(c)
	case r.hasRoom(c, 1, "template", c.Child.Pos):
		// Identify the object even if the child waits: expressions may read an
		// existing one.
		r.identify(r.add(c))
	}
}

// add appends an object to a child.
func (r *expansion) add(c *ChildResult) *Desired {
	at := len(c.Objects)
	c.Objects = resize(c.Objects, at+1)
	d := &c.Objects[at]
	*d = Desired{Child: c.Child, installation: r.in.Installation, Index: at, Waits: d.Waits[:0],
		ignored: d.ignored[:0], ignoring: d.ignoring[:0], values: d.values[:0]}
	r.count(c, 1)
	return d
}

// count adds objects of a child to those that the primary owns.
func (r *expansion) count(c *ChildResult, n int) {
	r.objects += n
	if c.Child.MaxObjects == 0 {
		r.sharing += n
	}
}

// hasRoom reports whether the primary may own more objects. It fails the child
// otherwise.
func (r *expansion) hasRoom(c *ChildResult, more int, where string, pos source.Pos) bool {
	why := r.whyFull(c, more)
	if why != "" {
		r.settling.settleAll(c, where, failedAt(pos, why))
	}
	return why == ""
}

// whyFull returns the limit that more objects of a child would exceed, or "".
func (r *expansion) whyFull(c *ChildResult, more int) string {
	switch most := c.Child.MaxObjects; {
	case r.objects+more > mostChildren:
		return fmt.Sprintf("more than %d objects for one resource: make several resources", mostChildren)
	case most > 0 && len(c.Objects)+more > most:
		return fmt.Sprintf("more than %d objects: maxObjects can be up to %d", most, mostChildren)
	case most == 0 && r.sharing+more > maxChildren:
		return fmt.Sprintf("more than %d objects for one resource", maxChildren) + c.Child.howToRaise()
	}
	return ""
}

// expandEach adds an object for each element, or for each combination of elements
// from several lists.
func (r *expansion) expandEach(c *ChildResult) {
	if c.State != Rendered {
		return // Nothing may be deleted, whatever the list contains.
	}
	scratch := Desired{Child: c.Child}
	r.current = &scratch
	last := c.Child.iterators[len(c.Child.iterators)-1].in.Pos()
	r.settling.settleAll(c, "forEach", r.loops.eachElement(c.Child.iterators, &scratch.values, func() result {
		if why := r.whyFull(c, 1); why != "" {
			return failedAt(last, why)
		}
		d := r.add(c)
		d.values = append(d.values, scratch.values...)
		return result{}
	}))
	if c.State != Rendered {
		r.count(c, -len(c.Objects))
		c.Objects = c.Objects[:0]
		return
	}
	for i := range c.Objects {
		r.identify(&c.Objects[i])
	}
}

// loops are over the elements of forEach.
type loops struct {
	*runState
	evaluator *evaluator
	spending  *spending
}

// perCombination is the cost of evaluating the list of an iterator, in values.
const perCombination = 50

// eachElement visits each element of a list, or each combination of elements from several
// lists. The values of the iterators are in values, where the expressions of later lists
// read them. It ends at the first result that is not ok, and returns it.
func (r *loops) eachElement(iterators []iterator, values *[]any, visit func() result) result {
	if len(iterators) == 0 {
		return visit()
	}
	it := &iterators[0]
	list, res := r.listElements(it.in)
	if !res.ok() {
		return res
	}
	if !r.spending.Work(perCombination + len(list)) {
		return failedAt(it.in.Pos(), tooManyCombinations)
	}
	outer := len(*values)
	for i, element := range list {
		*values = append((*values)[:outer], r.in.Trace.element(*it, i, element))
		if it.indexed {
			*values = append(*values, types.Int(i))
		}
		if res := r.eachElement(iterators[1:], values, visit); !res.ok() {
			return res
		}
	}
	*values = (*values)[:outer]
	return result{}
}

// listElements evaluates the list of an iterator.
func (r *loops) listElements(p *expr.Program) ([]ref.Val, result) {
	v, res := r.evaluator.evalPresent(p, "must be a list, but the value is absent: give it a default with orValue([])")
	if !res.ok() {
		return nil, res
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, failedAt(p.Pos(), "must be a list, got "+expr.TypeOfValue(v))
	}
	var out []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		if u, ok := element.(*types.Unknown); ok {
			return nil, result{unknown: u}
		}
		out = append(out, element)
	}
	return out, result{}
}

// identify computes the name and namespace of an object and finds the live one,
// even if the object has to wait.
func (r *expansion) identify(d *Desired) {
	outer := r.current
	r.current = d
	defer func() { r.current = outer }()
	name, res := r.texts.text(d.Child.name)
	if !res.ok() {
		r.settling.settle(d, d.Child.name.where, res)
		return
	}
	ns, ok := r.namespaceOf(d)
	if !ok {
		return
	}
	r.setIdentity(d, Identity{GVK: d.Child.GVK, Namespace: ns, Name: name})
	if d.Identity.Name != "" && r.in.Observed != nil {
		d.Live = r.in.Observed(d.Identity)
		if len(r.result.Done) > 0 {
			d.Done = r.liveObjects.doneBy(d.Identity)
			d.Live = r.liveObjects.recalled(d.Identity, d.Live)
		}
	}
}

// setIdentity sets the identity of an object if it is valid.
func (r *expansion) setIdentity(d *Desired, id Identity) {
	if why := illegalName(id.GVK.GroupKind(), id.Name); why != "" {
		r.failName(d, d.Child.name, why)
		return
	}
	d.Identity = id
	// Owner references do not cross namespaces.
	d.Tracked = d.Child.tracked || r.primary.namespace != "" && id.Namespace != r.primary.namespace
}

// namespaceOf computes the namespace of an object: by default the primary's own.
func (r *expansion) namespaceOf(d *Desired) (string, bool) {
	t := d.Child.namespace
	switch {
	case d.Child.allowed:
		if t != nil {
			r.failName(d, t, "the kind is in allow.clusterScoped, so its objects have no namespace")
			return "", false
		}
		return "", true
	case t == nil:
		return r.primary.home, true
	}
	ns, res := r.texts.text(t)
	if !res.ok() {
		r.settling.settle(d, t.where, res)
		return "", false
	}
	if why := r.illegalNamespace(ns); why != "" {
		r.failName(d, t, why)
		return "", false
	}
	return ns, true
}

// illegalNamespace returns why a child cannot be in a namespace, or "". Permission
// to create a primary must not imply permission to write to other namespaces.
func (r *expansion) illegalNamespace(ns string) string {
	switch {
	case len(validation.IsDNS1123Label(ns)) > 0:
		return "it is not the name of a namespace"
	case ns == r.primary.home || matchesAny(r.rule.allow.namespaces, ns):
		return ""
	case r.primary.home == "":
		return "the rule may not write there: allow.namespaces does not include it"
	}
	return "it is not the primary's namespace, and allow.namespaces does not include it"
}

// failName fails an object whose name or namespace is invalid.
func (r *expansion) failName(d *Desired, t *text, why string) {
	pos := t.pos
	if programs := t.programs(); len(programs) > 0 {
		pos = programs[0].Pos()
	}
	r.settling.settle(d, t.where, failedAt(pos, why))
}
