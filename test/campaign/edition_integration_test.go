//go:build integration

package campaign

import (
	"fmt"
	"strings"
)

// part is an optional part of the campaign's rules.
type part int

// The parts. Without any, there is one rule for Items, with one ConfigMap.
const (
	account part = 1 << iota // a child of Items, of a new kind
	extra                    // a child of Items, of a kind that another child has, too
	second                   // another rule for Items
	others                   // a rule for Others, with a kind of child that no other rule has
	reads                    // a kind that is only read

	anything = 1<<iota - 1
)

// atRest are the parts of the rules between the halves of the campaign. Two parts are
// missing, and their children must be gone then.
const atRest = second | others | reads

// edition is one version of the rules. Each child has the version in two annotations.
type edition struct {
	version int
	parts   part
}

func (e edition) has(p part) bool { return e.parts&p != 0 }

// rules returns the text of the edition.
func (e edition) rules() string {
	var b strings.Builder
	b.WriteString("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n")
	e.rule(&b, "item", "Item")
	if e.has(reads) {
		b.WriteString("  lookups:\n  - {id: limits, apiVersion: v1, kind: LimitRange, selector: {matchLabels: {campaign: reload}}}\n")
	}
	limits := ""
	if e.has(reads) {
		limits = `, limits: "${string(size(limits))}"`
	}
	b.WriteString("  children:\n")
	e.child(&b, "config", "ConfigMap", limits)
	if e.has(extra) {
		e.child(&b, "extra", "ConfigMap", "")
	}
	if e.has(account) {
		e.child(&b, "account", "ServiceAccount", "")
	}
	if e.has(second) {
		e.rule(&b, "second", "Item")
		b.WriteString("  children:\n")
		e.child(&b, "second", "ConfigMap", "")
	}
	if e.has(others) {
		e.rule(&b, "other", "Other")
		b.WriteString("  children:\n")
		e.child(&b, "other", "ConfigMap", "")
		e.child(&b, "secret", "Secret", "")
	}
	return b.String()
}

func (e edition) rule(b *strings.Builder, name, kind string) {
	fmt.Fprintf(b, "- name: %s\n  for: {apiVersion: campaign.reconcel.dev/v1, kind: %s}\n  let: {version: '\"%d\"'}\n", name, kind, e.version)
}

func (e edition) child(b *strings.Builder, id, kind, more string) {
	data := ""
	if kind == "ConfigMap" {
		data = `, data: {value: "${string(self.spec.value)}"` + more + `}`
	}
	fmt.Fprintf(b, "  - id: %s\n    template: {apiVersion: v1, kind: %s, metadata: {name: \"${self.metadata.name}-%[1]s\", annotations: {a: \"${version}\", b: \"%[3]d\"}}%[4]s}\n",
		id, kind, e.version, data)
}

// children returns the children of a primary in this edition: resources by suffix of the
// name.
func (e edition) children(kind string) map[string]string {
	if kind == "Other" {
		if !e.has(others) {
			return nil
		}
		return map[string]string{"other": "configmaps", "secret": "secrets"}
	}
	all := map[string]string{"config": "configmaps"}
	for p, child := range map[part][2]string{extra: {"extra", "configmaps"}, account: {"account", "serviceaccounts"}, second: {"second", "configmaps"}} {
		if e.has(p) {
			all[child[0]] = child[1]
		}
	}
	return all
}

// watches returns the resources that the edition needs to watch.
func (e edition) watches() []string {
	all := []string{"configmaps", "items"}
	if e.has(reads) {
		all = append(all, "limitranges")
	}
	if e.has(others) {
		all = append(all, "others", "secrets")
	}
	if e.has(account) {
		all = append(all, "serviceaccounts")
	}
	return all
}
