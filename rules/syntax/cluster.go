package syntax

import "reconcel/rules/source"

// ForCluster is the value of for in a rule without primaries.
const ForCluster = "cluster"

// forCluster is for of a rule whose objects belong to the installation.
var forCluster = source.Choices{
	{Text: ForCluster, Doc: "The rule has no primary and is rendered once. Its objects belong to the installation, and " +
		"its expressions have no `self`."},
}

// forData is for: a map that selects the primaries, a list of such maps, or the text cluster.
var forData = orCluster(selectionSchema())

func orCluster(selection *source.Schema) *source.Schema {
	s := orType("string", selection)
	s.AnyOf = []*source.Schema{forCluster.Schema(), {Type: selection.Type}}
	return s
}

// The kind that stands for the primary of a rule for the cluster: a bundle. The API server
// does not serve it; the engine keeps a ConfigMap for each bundle.
const (
	BundleAPIVersion = "reconcel.dev/v1alpha1"
	BundleKind       = "Bundle"
)

// readForCluster reads the for of a rule without primaries.
func readForCluster(v source.Value) For {
	f := For{Pos: v.Pos(), Entry: "for", Digest: v.Digest()}
	if text := v.OneOf(forCluster); text.Value != "" {
		f.Cluster = true
		f.APIVersion = source.String{Value: BundleAPIVersion, Pos: text.Pos}
		f.Kind = source.String{Value: BundleKind, Pos: text.Pos}
	}
	return f
}

// withoutPrimary are the keys of a rule that act on its primaries, and why a rule for the
// cluster does not have them.
var withoutPrimary = []struct{ key, why string }{
	{"patch", "there is no primary to patch"},
	{"status", "there is no primary with a status"},
	{"conditions", "there is no primary with conditions: the annotation reconcel.dev/status of the bundle's ConfigMap " +
		"reports whether it is ready"},
	{"finalize", "there is no primary that is deleted. When the rule is removed, its finalize is gone with it"},
	{"teardown", "there is no primary that is deleted; onRuleRemoval says what happens when the rule is removed"},
	{"report", "the annotation reconcel.dev/status of the bundle's ConfigMap always reports whether it is ready"},
}

// rejectPrimaryKeys records an error for each key that needs a primary.
func rejectPrimaryKeys(rule source.Value) {
	for _, k := range withoutPrimary {
		if v := rule.Peek(k.key); !v.Missing() {
			v.Errorf("is not possible with for: cluster: %s", k.why).Hint = "remove it"
		}
	}
	if v := rule.Peek("rollout").Peek("maxUnavailable"); !v.Missing() {
		v.Errorf("is not possible with for: cluster: there are no primaries to reach one after another").Hint = "remove it"
	}
}

// readClusterAccount reads the ServiceAccount of a rule for the cluster, which has no
// primary whose namespace could be that of the account.
func readClusterAccount(v source.Value) Account {
	a := readAccount(v)
	if a.Name != "" && a.Namespace == "" {
		v.Errorf("%q needs a namespace: a rule with for: cluster has no primary",
			a.Name).Hint = "write it with its namespace, like team-a/" + a.Name
	}
	return a
}

// rejectSharing records an error for each child of a rule for the cluster that is shared.
func rejectSharing(rule source.Value, children []*Child) {
	for _, c := range children {
		if c.IfExists.Value == share {
			rule.ErrorAt(c.IfExists.Pos, "ifExists: share is not possible with for: cluster: the rule has no primaries that "+
				"could share an object").Hint = "remove it"
		}
	}
}
