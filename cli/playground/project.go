package playground

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/graph"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/timeline"
	"reconcel/rules/source"
)

// A Project is what is in the editors: texts by name, and which of them are what.
type Project struct {
	Files     map[string]string `json:"files"`
	Rules     []string          `json:"rules"`
	Resources []string          `json:"resources"`
	Observed  []string          `json:"observed"`
	CRDs      []string          `json:"crds"`
}

// namespace is that of resources without one, as in render.
const namespace = "default"

// A session answers one request.
type session struct {
	Answer
	Project
	from   files.Reader
	judged offline.Judged
	notes  bytes.Buffer
}

// check does what validate does, and reports whether the rules are valid.
func (p Project) check() (s *session, valid bool) {
	s = &session{Project: p, from: files.Reader{Texts: p.Files}}
	s.Findings = []findings.Finding{}
	var err error
	if s.judged, err = offline.Judge(s.from, p.Rules, p.CRDs, judge.Policy{}); err != nil {
		s.complain(err)
		return s, false
	}
	found := source.Collect(s.judged.Sources, slices.Concat(s.judged.Result.Errors, s.judged.Result.Warnings))
	s.Findings = findings.List(found)
	s.Report = string(findings.Text(found, p.Rules, s.judged.Program))
	return s, !findings.Invalid(found)
}

// complain prints an error as commands do, and adds those with a position to the findings.
func (s *session) complain(err error) {
	if err == nil {
		return
	}
	before := s.notes.Len()
	exit.Tell(&s.notes, err)
	s.Failures = append(s.Failures, strings.TrimSpace(s.notes.String()[before:]))
	if found, ok := errors.AsType[source.Errors](err); ok {
		s.Findings = append(s.Findings, findings.List(found)...)
	}
}

func (s *session) say(format string, args ...any) { fmt.Fprintf(&s.notes, format+"\n", args...) }

// prepare returns a renderer, which prints notes with say, and the resources for it.
func (s *session) prepare(say func(format string, args ...any)) (*offline.Renderer, []*files.Object, error) {
	return s.judged.Prepare(s.from, offline.Request{Resources: s.Resources, Observed: s.Observed, Namespace: namespace,
		Say: say})
}

// render does what render does.
func (s *session) render() error {
	r, resources, err := s.prepare(s.say)
	if err != nil {
		return err
	}
	r.Render(resources)
	s.Failures = append(s.Failures, r.Failures...)
	r.TellUnread()
	text, err := r.Format("yaml")
	s.Result = string(text)
	return err
}

// graph does what graph does: with the states of a single resource, or of no resource.
func (s *session) graph() error {
	r, resources, err := s.prepare(s.say)
	if err != nil {
		return err
	}
	if len(resources) == 1 {
		s.Graph = graph.OfObject(s.judged.Program, r, resources[0])
		s.Failures = append(s.Failures, r.Failures...)
	} else {
		s.Graph = graph.OfProgram(s.judged.Program)
	}
	return nil
}

// play plays a timeline. The observed objects exist at its start, except the resources and those
// that the rules make themselves.
func (s *session) play(ctx context.Context, options timeline.Options) error {
	var err error
	if options.Kinds, err = s.judged.Kinds.Simulated(s.judged.Program); err != nil {
		return err
	}
	options.Program, options.Unreported = s.judged.Program, s.judged.Result.Unreported
	r, resources, err := s.prepare(func(string, ...any) {})
	if err != nil {
		return err
	}
	r.Render(resources)
	made := map[timeline.Object]bool{}
	for _, object := range r.Objects() {
		made[timeline.ObjectOf(&unstructured.Unstructured{Object: object})] = true
	}
	for _, o := range resources {
		made[timeline.ObjectOf(&o.Unstructured)] = true
	}
	observed, err := s.judged.Kinds.Resources(s.from, s.Observed, namespace)
	if err != nil {
		return err
	}
	observed = slices.DeleteFunc(observed,
		func(o *files.Object) bool { return made[timeline.ObjectOf(&o.Unstructured)] })
	for _, o := range slices.Concat(observed, resources) {
		if options.Program.ChildOf(o.Unstructured.Object) == nil {
			options.Given = append(options.Given, given(o))
		}
	}
	s.Timeline, err = timeline.Play(ctx, options)
	return err
}

// given returns an object to create. Only a server says when an object was created or deleted.
func given(o *files.Object) *unstructured.Unstructured {
	u := o.Unstructured.DeepCopy()
	for _, field := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"resourceVersion"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	return u
}
