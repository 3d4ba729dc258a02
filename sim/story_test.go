package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// story is a sequence of requests for any cluster. Its text has one request in each YAML
// document:
//
//	# VERB [MANAGER] [KIND/NAME]
//	body
//
// The verbs are create, update, apply, force, merge, json, get, delete, orphan,
// foreground and settle. A verb with /status or /scale addresses the subresource. In
// bodies, uid(KIND/NAME) and version(KIND/NAME) stand for the object's current values.
type story struct {
	name, text string
}

// chapter is one request and its answer.
type chapter struct {
	title   string
	err     error
	object  *unstructured.Unstructured
	changed bool // the resourceVersion differs from the object's previous answer
}

// teller sends stories to a cluster.
type teller struct {
	testing.TB
	client    dynamic.Interface
	namespace string
	settle    func(known map[string]dynamic.ResourceInterface)

	known    map[string]dynamic.ResourceInterface // by KIND/NAME
	versions map[string]string
}

var heading = regexp.MustCompile(`(?m)^# ([a-z]+)(?:/([a-z]+))?(?: ([a-z][-a-z0-9/]*))?(?: ([A-Z]\w+/[-.\w]+))?$`)

func (s *teller) tell(st story) (chapters []chapter) {
	s.known, s.versions = map[string]dynamic.ResourceInterface{}, map[string]string{}
	text := strings.ReplaceAll(st.text, "NAMESPACE", s.namespace)
	marks := heading.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		s.Fatalf("%s: no requests", st.name)
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		c := chapter{title: fmt.Sprintf("%d: %s", i+1, text[m[0]+2:m[1]])}
		c.object, c.err = s.request(group(1), group(2), group(3), group(4), s.filled(text[m[1]:end]))
		if c.object != nil {
			key := c.object.GetKind() + "/" + c.object.GetName()
			c.changed = s.versions[key] != c.object.GetResourceVersion()
			s.versions[key] = c.object.GetResourceVersion()
			if c.title += " -> " + key; group(2) == "" && c.object.GetName() != "" {
				s.known[key] = s.of(c.object)
			}
		}
		chapters = append(chapters, c)
	}
	return chapters
}

// filled replaces uid(...) and version(...) by current values.
func (s *teller) filled(body string) string {
	return regexp.MustCompile(`(uid|version)\((\w+/[-.\w]+)\)`).ReplaceAllStringFunc(body, func(m string) string {
		what, subject, _ := strings.Cut(strings.TrimSuffix(m, ")"), "(")
		client := s.known[subject]
		if client == nil {
			s.Fatalf("%s has not been mentioned before", subject)
		}
		_, name, _ := strings.Cut(subject, "/")
		live, err := client.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			s.Fatal(err)
		}
		if what == "uid" {
			return string(live.GetUID())
		}
		return live.GetResourceVersion()
	})
}

func (s *teller) of(u *unstructured.Unstructured) dynamic.ResourceInterface {
	gvk := u.GroupVersionKind()
	k := kinds().Kind(gvk)
	if k == nil {
		gvk = runtimeschema.GroupVersionKind{}
		s.Fatalf("no kind %s", u.GroupVersionKind())
	}
	r := s.client.Resource(gvk.GroupVersion().WithResource(k.Resource))
	if !k.Namespaced {
		return r
	}
	if u.GetNamespace() != "" {
		return r.Namespace(u.GetNamespace())
	}
	return r.Namespace(s.namespace)
}

func (s *teller) request(verb, subresource, manager, subject, body string) (*unstructured.Unstructured, error) {
	ctx := context.Background()
	var subs []string
	if subresource != "" {
		subs = []string{subresource}
	}
	if verb == "settle" {
		s.settle(s.known)
		return nil, nil
	}
	if subject != "" {
		return s.about(ctx, verb, manager, subject, body, subs)
	}
	all, err := parseAll(body)
	if err != nil || len(all) != 1 {
		s.Fatalf("%v: %d objects in\n%s", err, len(all), body)
	}
	u := all[0]
	client := s.of(u)
	switch verb {
	case "create":
		return client.Create(ctx, u, metav1.CreateOptions{FieldManager: manager}, subs...)
	case "update":
		return client.Update(ctx, u, metav1.UpdateOptions{FieldManager: manager}, subs...)
	case "apply", "force":
		force := verb == "force"
		data, err := json.Marshal(u.Object)
		if err != nil {
			s.Fatal(err)
		}
		return client.Patch(ctx, u.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: manager, Force: &force}, subs...)
	}
	s.Fatalf("verb %q needs a KIND/NAME", verb)
	return nil, nil
}

func (s *teller) about(ctx context.Context, verb, manager, subject, body string, subs []string) (*unstructured.Unstructured, error) {
	client := s.known[subject]
	if client == nil {
		s.Fatalf("%s has not been mentioned before", subject)
	}
	_, name, _ := strings.Cut(subject, "/")
	policy := metav1.DeletePropagationBackground
	switch verb {
	case "get":
		return client.Get(ctx, name, metav1.GetOptions{}, subs...)
	case "merge":
		return client.Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, subs...)
	case "json":
		return client.Patch(ctx, name, types.JSONPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, subs...)
	case "orphan":
		policy = metav1.DeletePropagationOrphan
	case "foreground":
		policy = metav1.DeletePropagationForeground
	case "default":
		return nil, client.Delete(ctx, name, metav1.DeleteOptions{})
	case "delete":
	default:
		s.Fatalf("unknown verb %q", verb)
	}
	return nil, client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
}

// answer summarizes an error.
func answer(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &status):
		return err.Error()
	}
	st := status.Status()
	text := []string{fmt.Sprintf("%d %s", st.Code, st.Reason)}
	if st.Details != nil {
		for _, c := range st.Details.Causes {
			text = append(text, fmt.Sprintf("[%s %s]", c.Type, c.Field))
		}
	}
	slices.Sort(text[1:])
	return strings.Join(slices.Compact(text), " ") // The API server checks some things twice.
}
