package tree

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
)

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
