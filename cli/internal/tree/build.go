package tree

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// dependents are the kinds that Kubernetes' controllers create for objects of a kind.
var dependents = map[schema.GroupKind][]schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}:  {{Group: "apps", Kind: "ReplicaSet"}},
	{Group: "apps", Kind: "ReplicaSet"}:  {{Kind: "Pod"}},
	{Group: "apps", Kind: "StatefulSet"}: {{Kind: "Pod"}},
	{Group: "apps", Kind: "DaemonSet"}:   {{Kind: "Pod"}},
	{Group: "batch", Kind: "Job"}:        {{Kind: "Pod"}},
	{Group: "batch", Kind: "CronJob"}:    {{Group: "batch", Kind: "Job"}},
	{Kind: "Service"}:                    {{Group: "discovery.k8s.io", Kind: "EndpointSlice"}},
}

// A builder joins objects to a tree.
type builder struct {
	owned    map[types.UID][]*unstructured.Unstructured // by owner
	wanted   map[rules.Identity]*Node                   // what the rules render
	unread   map[unreadKind]string                      // why kinds could not be listed
	keptWhy  map[string]string                          // by rules.Identity.String
	reported map[types.UID]bool                         // objects that are in the tree
	used     map[unreadKind]bool                        // that are in the tree
	rendered int                                        // the number of children in the rules so far
}

type unreadKind struct {
	gk        schema.GroupKind
	namespace string
}

func newBuilder(self *unstructured.Unstructured) *builder {
	return &builder{
		owned: map[types.UID][]*unstructured.Unstructured{}, wanted: map[rules.Identity]*Node{},
		unread:  map[unreadKind]string{},
		keptWhy: keptObjects(self), reported: map[types.UID]bool{}, used: map[unreadKind]bool{},
	}
}

// add adds an object for each of its owners.
func (b *builder) add(u *unstructured.Unstructured) {
	for _, uid := range ownersOf(u) {
		b.owned[uid] = append(b.owned[uid], u)
	}
}

// ownersOf returns the owners of an object: those of its owner references, and those in reconcel's annotations.
// Kubernetes copies annotations, for example to ReplicaSets and Endpoints: a copy does not count.
func ownersOf(u *unstructured.Unstructured) (all []types.UID) {
	for _, ref := range u.GetOwnerReferences() {
		all = append(all, ref.UID)
	}
	o := watch.NewUntrimmed(u)
	for _, owner := range o.Owners() {
		if o.BelongsTo(owner) && !slices.Contains(all, owner.UID) {
			all = append(all, owner.UID)
		}
	}
	return all
}

// want adds what a rule renders, and what holds it up.
func (b *builder) want(self *Node, result *rules.RuleResult, find func(*rules.Desired) rendered.Finding) {
	for i := range result.Children {
		c := &result.Children[i]
		b.rendered++
		if result.Teardown != (c.Child.Timeout > 0) {
			continue // Children are created while the resource lives, and those of finalize when it is deleted.
		}
		n := Node{APIVersion: c.Child.GVK.GroupVersion().String(), Kind: c.Child.GVK.Kind, Rule: result.Rule.Name,
			Child: c.Child.ID, order: b.rendered}
		if c.State != rules.Rendered {
			b.wantOne(self, n, nil, rendered.OfChild(c, find))
			continue
		}
		for j := range c.Objects {
			b.wantOne(self, n, &c.Objects[j], find(&c.Objects[j]))
		}
	}
}

// wantOne adds an object, or a child without objects. What its own when excludes is not in the tree.
func (b *builder) wantOne(self *Node, n Node, d *rules.Desired, found rendered.Finding) {
	if found == (rendered.Finding{State: rendered.Excluded}) {
		return
	}
	n.Finding = found
	if d != nil {
		n.Namespace, n.Name = d.Identity.Namespace, d.Identity.Name
	}
	if d != nil && d.Live.Object != nil && d.Live.Done == nil {
		b.wanted[d.Identity] = &n
		return
	}
	self.Children = append(self.Children, &n)
}

// grow adds the objects below a node, and what may not be read.
func (b *builder) grow(n *Node) {
	b.reported[n.UID] = true
	for _, u := range b.owned[n.UID] {
		if b.reported[u.GetUID()] {
			continue // It has several owners, or was listed twice.
		}
		child := b.node(u)
		n.Children = append(n.Children, child)
		b.grow(child)
	}
	gv, _ := schema.ParseGroupVersion(n.APIVersion)
	for _, gk := range dependents[schema.GroupKind{Group: gv.Group, Kind: n.Kind}] {
		at := unreadKind{gk, n.Namespace}
		if why := b.unread[at]; why != "" {
			b.used[at] = true
			n.Children = append(n.Children, &Node{APIVersion: gk.Group, Kind: gk.Kind, Namespace: n.Namespace,
				Finding: rendered.Finding{State: rendered.Unread, Message: why}})
		}
	}
}

// node returns the node of an object. A rule says best whether its child is ready.
func (b *builder) node(u *unstructured.Unstructured) *Node {
	created := u.GetCreationTimestamp()
	n := &Node{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		order: math.MaxInt}
	id := rules.Identity{GVK: u.GroupVersionKind(), Namespace: n.Namespace, Name: n.Name}
	if own := b.wanted[id]; own != nil {
		n = own
	} else {
		n.Finding = rendered.OfLive(kstatus.Judge(id.GVK.GroupKind(), u.Object))
		n.Rule, n.Child = u.GetLabels()[rules.LabelRule], u.GetLabels()[rules.LabelChild]
	}
	n.UID, n.Created = u.GetUID(), &created
	if why, is := b.keptWhy[id.String()]; is {
		n.Finding = rendered.Finding{State: rendered.Kept, Message: why}
	}
	if u.GetDeletionTimestamp() != nil {
		n.Finding = rendered.Finding{State: rendered.Deleting}
		if held := u.GetFinalizers(); len(held) > 0 {
			n.Message = "held by the finalizer " + strings.Join(held, ", ")
		}
	}
	return n
}

// keptObjects returns the objects in the condition Kept of a resource, with the reasons.
func keptObjects(self *unstructured.Unstructured) map[string]string {
	found := map[string]string{}
	c := meta.FindStatusCondition(rendered.ConditionsOf(self), "Kept")
	if c == nil || c.Status != metav1.ConditionTrue {
		return found
	}
	for part := range strings.SplitSeq(c.Message, "; ") {
		ids, why, _ := strings.Cut(part, ": ")
		for id := range strings.SplitSeq(ids, ", ") {
			found[id] = "kept: " + why
		}
	}
	return found
}

// A Node is an object, or something that is not there. Its JSON is documented.
type Node struct {
	APIVersion       string       `json:"apiVersion"`
	Kind             string       `json:"kind"`
	Namespace        string       `json:"namespace,omitempty"`
	Name             string       `json:"name,omitempty"` // empty: not known
	UID              types.UID    `json:"uid,omitempty"`
	Rule             string       `json:"rule,omitempty"`
	Child            string       `json:"child,omitempty"` // the id
	rendered.Finding              // of the resource itself, that of status
	Created          *metav1.Time `json:"created,omitempty"`
	Children         []*Node      `json:"children,omitempty"`

	order int // of the child in the rules
}

// Report is the result of tree. Its JSON is documented.
type Report struct {
	Tree     *Node    `json:"tree"`
	Problems []string `json:"problems"`
}

// ref returns Kind/name, as kubectl tree prints it.
func (n *Node) ref() string {
	if n.Name != "" {
		return n.Kind + "/" + n.Name
	}
	if n.Child != "" {
		return n.Kind + " (child " + n.Child + ")"
	}
	return n.Kind
}

// key identifies a node in the tree of another time. An object that is missing has the key of
// the one that it becomes.
func (n *Node) key() string {
	return strings.Join([]string{n.APIVersion, n.Namespace, n.ref()}, "/")
}

// sort orders the tree: as in the rules, then by kind and name.
func (n *Node) sort() {
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.order, b.order), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, c := range n.Children {
		c.sort()
	}
}

// walk visits a node and all below it. prefix is what kubectl tree draws before the name.
func (n *Node) walk(visit func(n *Node, prefix string)) { n.walkBelow(visit, "", "") }

func (n *Node) walkBelow(visit func(n *Node, prefix string), first, rest string) {
	visit(n, first)
	for i, c := range n.Children {
		if i == len(n.Children)-1 {
			c.walkBelow(visit, rest+"└─", rest+"  ")
		} else {
			c.walkBelow(visit, rest+"├─", rest+"│ ")
		}
	}
}

// Write prints a tree.
func Write(t *output.Table, root *Node, now time.Time) error {
	var lines []output.Line
	root.walk(func(n *Node, prefix string) { lines = append(lines, n.line(t, prefix, now)) })
	return t.Write(lines...)
}

func (n *Node) line(t *output.Table, prefix string, now time.Time) (line output.Line) {
	line.Add("NAMESPACE", n.Namespace)
	line.Add("NAME", prefix+n.ref())
	line.AddState(string(n.State), n.State.Colour())
	line.Add("AGE", output.Age(n.Created, now))
	line.AddMessage(n.Message, t)
	return line
}
