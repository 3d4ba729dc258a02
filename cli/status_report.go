package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/rules"
)

// A statusReport is the result of status. Its JSON is documented.
type statusReport struct {
	Resources []resourceStatus `json:"resources"`
	Summary   statusSummary    `json:"summary"`
	Leaders   []leaderStatus   `json:"leaders"`
	Problems  []statusProblem  `json:"problems"`

	failed error // why it is incomplete, apart from missing permissions
}

// A statusSummary counts all resources, including those that are not listed.
type statusSummary struct {
	Resources int                   `json:"resources"`
	Kinds     int                   `json:"kinds"`
	States    map[resourceState]int `json:"states"`
}

// A statusProblem is a problem that is not about one resource, or that hides
// resources.
type statusProblem struct {
	Type    problemType `json:"type"`
	Kind    string      `json:"kind,omitempty"` // Kind.group
	Rules   []string    `json:"rules,omitempty"`
	Message string      `json:"message"`
}

// A problemType identifies a problem for programs.
type problemType string

const (
	kindNotServed       problemType = "KindNotServed"
	listForbidden       problemType = "ListForbidden"
	listFailed          problemType = "ListFailed"
	noResources         problemType = "NoResources"
	eventsForbidden     problemType = "EventsForbidden"
	inventoryUnreadable problemType = "InventoryUnreadable"
	noLeader            problemType = "NoLeader"
	notInstalled        problemType = "NotInstalled"
	pauseIgnored        problemType = "PauseIgnored"
)

// A statusReader reads the state of the resources of some kinds.
type statusReader struct {
	cluster   *cluster.Cluster
	kinds     []*statusKind
	namespace string // "": all
	wanted    func(resourceState) bool
	named     bool // requested resources are listed in any state
	now       time.Time
	statusReport
}

// newStatusReader returns a reader with an empty report. Its lists are not nil, so
// that JSON has [] instead of null.
func newStatusReader(live *cluster.Cluster, kinds []*statusKind, q statusQuery) *statusReader {
	return &statusReader{cluster: live, kinds: kinds, wanted: q.wanted, now: time.Now(), statusReport: statusReport{
		Resources: []resourceStatus{}, Summary: statusSummary{States: map[resourceState]int{}},
		Leaders: []leaderStatus{}, Problems: []statusProblem{},
	}}
}

func (r *statusReader) problem(of problemType, k *statusKind, format string, args ...any) {
	p := statusProblem{Type: of, Message: fmt.Sprintf(format, args...)}
	if k != nil {
		p.Kind, p.Rules = k.gk.String(), k.rules
	}
	r.Problems = append(r.Problems, p)
}

// read reads all kinds. An unreadable kind is a problem in the report; a requested
// resource that does not exist is an error.
func (r *statusReader) read(ctx context.Context) error {
	for _, k := range r.kinds {
		if k.kind == nil {
			r.problem(kindNotServed, k, "the API server does not serve %s, apply its CustomResourceDefinition", k.gk)
			continue
		}
		r.Summary.Kinds++
		err := r.readKind(ctx, k)
		if _, absent := errors.AsType[notFoundError](err); absent {
			return err
		}
		if err != nil {
			r.unreadable(k, err)
		}
	}
	slices.SortFunc(r.Resources, byUrgency)
	return nil
}

// byUrgency sorts the worst state first, and within a state the oldest.
func byUrgency(a, b resourceStatus) int {
	return cmp.Or(
		cmp.Compare(slices.Index(resourceStates, a.State), slices.Index(resourceStates, b.State)),
		compareSince(a.Since, b.Since),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
}

// compareSince sorts unknown times last.
func compareSince(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(b.Time)
}

func (r *statusReader) unreadable(k *statusKind, err error) {
	if apierrors.IsForbidden(err) {
		hint := ""
		if r.namespace == "" && k.kind.Namespaced {
			hint = " (-n asks for one namespace)"
		}
		r.problem(listForbidden, k, "%s may not be listed%s: %s", k.gk, hint, err)
		return
	}
	r.problem(listFailed, k, "%s could not be listed: %s", k.gk, err)
	r.failed = err
}

// readKind reads all resources of a kind, page by page. It keeps only those to
// list.
func (r *statusReader) readKind(ctx context.Context, k *statusKind) error {
	events := &statusEvents{}
	if k.reports == noConditions {
		if err := events.read(ctx, r.cluster, k, r.namespace); err != nil {
			r.problem(eventsForbidden, k, "%s has no status.conditions, and its Events cannot be read: %s", k.gk, err)
		}
	}
	found := map[string]bool{}
	n := 0
	err := cluster.ForEach(ctx, r.cluster.Resource(k.kind, r.namespace), k.options(), func(u *unstructured.Unstructured) {
		if k.wants(u.GetName()) && k.isPrimary(u) {
			n++
			found[u.GetName()] = true
			r.add(k, u, events)
		}
	})
	if err != nil {
		return err
	}
	if n == 0 && r.namespace == "" && len(k.targets) == 0 && len(k.rules) > 0 {
		r.problem(noResources, k, "%s: there is no %s", quotedRules(k.rules), k.gk)
	}
	return k.missing(found)
}

func quotedRules(names []string) string {
	word := "rule"
	if len(names) > 1 {
		word = "rules"
	}
	return fmt.Sprintf("%s \"%s\"", word, strings.Join(names, `", "`))
}

// options limits a list to the one requested resource.
func (k *statusKind) options() metav1.ListOptions {
	if len(k.targets) == 1 && k.targets[0].Name != "" {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + k.targets[0].Name}
	}
	return metav1.ListOptions{}
}

// A notFoundError says that a requested resource does not exist.
type notFoundError struct{ target string }

func (e notFoundError) Error() string { return e.target + " not found" }

// missing returns an error if a requested resource is not among those found.
func (k *statusKind) missing(found map[string]bool) error {
	for _, t := range k.targets {
		if t.Name != "" && !found[t.Name] {
			return notFoundError{t.Text}
		}
	}
	return nil
}

// add counts a resource, and lists it if requested.
func (r *statusReader) add(k *statusKind, u *unstructured.Unstructured, events *statusEvents) {
	s := newResourceStatus(u, k.reports)
	events.explain(&s)
	r.Summary.Resources++
	r.Summary.States[s.State]++
	if r.wanted(s.State) || r.named && k.names(s.Name) {
		r.Resources = append(r.Resources, s)
	}
	if mistake := rules.PauseMistake(u.Object); mistake != "" {
		r.problem(pauseIgnored, k, "%s: %s", path.Join(s.Namespace, s.ref()), mistake)
	}
}

// readLeaders reads the leader of each installation.
func (r *statusReader) readLeaders(ctx context.Context, all []installation) {
	for _, i := range all {
		l := r.leader(ctx, i, r.now)
		r.Leaders = append(r.Leaders, l)
		if l.State == expired || l.State == released {
			r.problem(noLeader, nil, "%s/%s: %s", l.Namespace, l.Name, l.Message)
		}
	}
}
