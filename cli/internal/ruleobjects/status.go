package ruleobjects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// A Reason says what became of the rules of an object: it is that of its conditions.
type Reason string

// The reasons. The first three are those of rules that are not active as they are.
const (
	Invalid           Reason = "Invalid"           // not in the language, or against the policy
	InvalidForCluster Reason = "InvalidForCluster" // not with the schemas of the cluster
	Conflict          Reason = "Conflict"          // something else has a rule of the same name
	Forbidden         Reason = "Forbidden"
	Held              Reason = "Held"
	RollingOut        Reason = "RollingOut"
	Undone            Reason = "Undone"
	Active            Reason = "Active"
)

// A Judgement is what became of the rules of an object.
type Judgement struct {
	Object
	Reason   Reason   // Active, or what is wrong with them
	Problems []string // empty if they are active
}

// Judge records what became of the objects.
func (o *Objects) Judge(all []Judgement) {
	judged := map[string]Judgement{}
	for _, j := range all {
		judged[j.File.Name] = j
	}
	o.mu.Lock()
	o.judged = judged
	o.mu.Unlock()
	signal(o.news)
}

// writeEvery is how often the status of an object is written at most.
const writeEvery = 2 * time.Second

// insistEvery is how often a status is written again that another writer, or its schema, changes.
const insistEvery = time.Minute

// A reporter writes the status of objects.
type reporter struct {
	*Objects
	inspect  func() engine.Inspection
	written  map[string]writtenStatus // by the name of the file
	awaiting map[string]time.Time     // since when something is awaited; see arrives
	problem  outcome.Problem
}

// A writtenStatus is what was written last.
type writtenStatus struct {
	uid    types.UID
	status map[string]any
	at     time.Time
}

// Report keeps the status of the objects up to date while this process leads, until ctx ends.
func (o *Objects) Report(ctx context.Context, inspect func() engine.Inspection) {
	r := &reporter{Objects: o, inspect: inspect, written: map[string]writtenStatus{}, awaiting: map[string]time.Time{}}
	for ctx.Err() == nil {
		began := time.Now()
		if r.report(ctx) {
			outcome.Sleep(ctx, writeEvery)
			continue
		}
		select {
		case <-ctx.Done():
		case <-o.news:
		case <-time.After(writeEvery - time.Since(began)):
		}
	}
}

// report writes each status that differs, and reports whether it tried to write any.
func (r *reporter) report(ctx context.Context) (wrote bool) {
	now := r.inspect()
	if now.State != engine.Leads {
		return false
	}
	r.mu.Lock()
	judged := maps.Clone(r.judged)
	live := maps.Clone(r.all)
	r.mu.Unlock()
	rulesOf := map[string][]plan.RuleInspection{} // by the name of the file
	for i := range now.Rules {
		file, _, _ := strings.Cut(now.Rules[i].Position, ":")
		rulesOf[file] = append(rulesOf[file], now.Rules[i])
	}
	for _, file := range slices.Sorted(maps.Keys(judged)) {
		j, o := judged[file], live[syntax.ObjectIn(file)]
		if o == nil || j.live == nil || o.live.GetUID() != j.live.GetUID() {
			continue
		}
		was, _ := o.live.Object["status"].(map[string]any)
		before := r.written[file]
		if before.uid != o.live.GetUID() {
			before = writtenStatus{}
		}
		status := r.status(&j, rulesOf[file], before.status, was)
		if has(was, status) ||
			before.uid != "" && reflect.DeepEqual(before.status, status) && time.Since(before.at) < insistEvery {
			continue
		}
		wrote = true
		err := r.write(ctx, o.live, status)
		if ctx.Err() == nil && r.problem.IsNews(err) {
			r.Log.Warn("status of Rules objects not written, will retry", "object",
				r.logged(o.live.GetName()), "error", err)
		}
		switch {
		case err == nil, isOfObject(err):
			r.written[file] = writtenStatus{o.live.GetUID(), status, time.Now()}
		case !apierrors.IsInternalError(err): // Which may be of the object: it is too large for etcd.
			return wrote
		}
	}
	return wrote
}

// isOfObject reports whether the API server rejects the status of one object, and not of all.
func isOfObject(err error) bool { return outcome.IsRejection(err) && !outcome.IsForbidden(err) }

// write writes a status.
func (r *reporter) write(ctx context.Context, of *unstructured.Unstructured, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind(),
		"metadata": map[string]any{"name": of.GetName(), "namespace": of.GetNamespace(), "uid": string(of.GetUID())},
		"status":   status})
	if err != nil {
		return err
	}
	_, err = r.Client.Resource(rules.RulesResource).Namespace(of.GetNamespace()).Patch(ctx, of.GetName(),
		types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: managedfields.Manager, Force: new(true)}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone, or another object has its name.
	}
	return err
}

// has reports whether a status has all that another one has, and nothing of reconcel's besides.
func has(was, status map[string]any) bool {
	for _, key := range []string{"observedGeneration", "rules", "valid", "resources", "ready"} {
		if !reflect.DeepEqual(was[key], status[key]) {
			return false
		}
	}
	return reflect.DeepEqual(ownConditions(was), ownConditions(status))
}

// ownConditions returns the conditions of a status that are reconcel's, by type.
func ownConditions(status map[string]any) map[any]any {
	own := map[any]any{}
	all, _ := status["conditions"].([]any)
	for _, c := range all {
		c, _ := c.(map[string]any)
		switch c["type"] {
		case outcome.ConditionReady, outcome.ConditionReconciling, outcome.ConditionStalled:
			own[c["type"]] = c
		}
	}
	return own
}

// status returns the status of an object with its active rules. Transitions keep their times from earlier statuses, the
// last of which wins.
func (r *reporter) status(j *Judgement, own []plan.RuleInspection, earlier ...map[string]any) map[string]any {
	var resources, ready int64
	for i := range own {
		for state, n := range own[i].Primaries {
			resources += int64(n)
			if state == outcome.Ready.String() {
				ready += int64(n)
			}
		}
	}
	reason, message := j.Reason, strings.Join(j.Problems, "\n")
	if reason == Active {
		reason, message = r.reasonOf(j, own)
	}
	return map[string]any{
		"observedGeneration": j.live.GetGeneration(),
		"rules":              int64(j.Rules()), "valid": len(j.Problems) == 0, "resources": resources, "ready": ready,
		"conditions": conditions(reason, message, r.waits(j.File.Name, reason, own), j.live.GetGeneration(), earlier),
	}
}

// arrivesWithin is how long something may be missing before a user has to act. See arrives.
const arrivesWithin = 15 * time.Second

// arrives reports whether the rest of a change may still arrive: a permission that is granted, or the removal of a rule
// from the object that had it. Tools apply what is new before they delete what is gone.
func arrives(reason Reason) bool { return reason == Forbidden || reason == Conflict }

// waits reports whether rules go on by themselves.
func (r *reporter) waits(file string, reason Reason, own []plan.RuleInspection) bool {
	if !arrives(reason) {
		delete(r.awaiting, file)
		return reason == RollingOut && !slices.ContainsFunc(own, func(i plan.RuleInspection) bool {
			return i.Rollout != nil && i.Rollout.State == inventory.Failed
		})
	}
	if r.awaiting[file].IsZero() {
		r.awaiting[file] = time.Now()
	}
	return time.Since(r.awaiting[file]) < arrivesWithin
}

// reasonOf returns what active rules of an object do, the most important first.
func (r *reporter) reasonOf(j *Judgement, own []plan.RuleInspection) (reason Reason, message string) {
	says := map[Reason][]string{}
	say := func(reason Reason, text string) {
		if text = strings.TrimSpace(text); text != "" && !slices.Contains(says[reason], text) {
			says[reason] = append(says[reason], text)
		}
	}
	for i := range own {
		rule := &own[i]
		say(Conflict, rule.Conflict)
		say(Held, rule.Held)
		for _, problem := range rule.Forbidden {
			say(Forbidden, fmt.Sprintf("rule %q: %s", rule.Name, problem))
		}
		switch ro := rule.Rollout; {
		case ro == nil:
		case ro.State == inventory.Undone:
			say(Undone, fmt.Sprintf("rule %q runs as before, its rollout was undone: %s", rule.Name, ro.Message))
		default:
			say(RollingOut, fmt.Sprintf("rule %q: rollout %s, %d of %d resources have the new version. %s", rule.Name,
				strings.ToLower(string(ro.State)), ro.Updated, ro.Resources, ro.Message))
		}
	}
	for _, reason := range []Reason{Conflict, Held, Undone, Forbidden, RollingOut} {
		if len(says[reason]) > 0 {
			return reason, strings.Join(says[reason], "\n")
		}
	}
	if n := j.Rules(); n != 1 {
		return Active, "all rules are active"
	}
	return Active, "the rule is active"
}

// mostMessage is the largest message of a condition, as for the conditions of Kubernetes.
const mostMessage = 32 << 10

// conditions returns the conditions of an object, in the way of kstatus. waits: the rules go on by themselves.
func conditions(reason Reason, message string, waits bool, generation int64,
	earlier []map[string]any) (all []any) {
	if len(message) > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage], "")
	}
	since := map[string]any{}
	for _, was := range earlier {
		before, _ := was["conditions"].([]any)
		for _, c := range before {
			if c, ok := c.(map[string]any); ok && c["type"] != nil {
				since[fmt.Sprint(c["type"], c["status"])] = c["lastTransitionTime"]
			}
		}
	}
	add := func(kind, status string) {
		at, known := since[kind+status].(string)
		if !known {
			at = time.Now().UTC().Format(time.RFC3339)
		}
		all = append(all, map[string]any{"type": kind, "status": status, "reason": string(reason), "message": message,
			"lastTransitionTime": at, "observedGeneration": generation})
	}
	switch {
	case reason == Active:
		add(outcome.ConditionReady, string(rules.True))
	case waits:
		add(outcome.ConditionReady, string(rules.False))
		add(outcome.ConditionReconciling, string(rules.True))
	default:
		add(outcome.ConditionReady, string(rules.False))
		add(outcome.ConditionStalled, string(rules.True))
	}
	return all
}
