package main

// inputs of the tools. The texts are what an agent reads.

type validateInput struct {
	Rules  []string `json:"rules" jsonschema:"rules files, or folders of them"`
	CRDs   []string `json:"crds,omitempty" jsonschema:"files or folders of CustomResourceDefinitions; default: those in the folders of rules"`
	Strict bool     `json:"strict,omitempty" jsonschema:"count warnings as errors"`
	Output string   `json:"output,omitempty" jsonschema:"text (default) or json"`
}

func validate(in validateInput) *call {
	c := command("validate", "--verbose")
	c.files("rules", in.Rules...)
	c.files("crd", in.CRDs...)
	c.set("strict", in.Strict)
	c.flag("output", in.Output)
	return c.end()
}

type explainInput struct {
	Name  string `json:"name,omitempty" jsonschema:"a key such as rules.children.onChange, a function such as elapsed, a check such as excluded-reader, or functions or checks for lists of them; default: the keys at the top"`
	Tests bool   `json:"tests,omitempty" jsonschema:"the key is one of test files, such as cases.steps"`
}

func explain(in explainInput) *call {
	c := command("explain")
	c.set("tests", in.Tests)
	return c.end(in.Name)
}

type evalInput struct {
	Expression string   `json:"expression" jsonschema:"CEL, such as self.spec.replicas * 2"`
	Resource   string   `json:"resource" jsonschema:"file with the resource, which is self"`
	Rules      []string `json:"rules,omitempty" jsonschema:"rules files whose lets, lookups and children the expression reads"`
	Rule       string   `json:"rule,omitempty" jsonschema:"name of the rule, if several are for the kind"`
	CRDs       []string `json:"crds,omitempty" jsonschema:"files or folders of CustomResourceDefinitions"`
	Observed   []string `json:"observed,omitempty" jsonschema:"files of objects that exist in the cluster"`
	Time       string   `json:"time,omitempty" jsonschema:"time at which to evaluate, such as 2026-01-02T03:04:05Z"`
	Output     string   `json:"output,omitempty" jsonschema:"yaml (default), json, or type for the type of the expression"`
}

func eval(in evalInput) *call {
	c := command("eval")
	c.files("resources", in.Resource)
	c.files("rules", in.Rules...)
	c.flag("rule", in.Rule)
	c.files("crd", in.CRDs...)
	c.files("observed", in.Observed...)
	c.flag("time", in.Time)
	c.flag("output", in.Output)
	return c.end(in.Expression)
}

type renderInput struct {
	Rules     []string `json:"rules" jsonschema:"rules files, or folders of them"`
	Resources []string `json:"resources,omitempty" jsonschema:"files of resources; none for rules with for: cluster"`
	CRDs      []string `json:"crds,omitempty" jsonschema:"files or folders of CustomResourceDefinitions: with them, resources have their defaults"`
	Observed  []string `json:"observed,omitempty" jsonschema:"files of objects that exist in the cluster, such as children with a status"`
	Time      string   `json:"time,omitempty" jsonschema:"time at which to render, such as 2026-01-02T03:04:05Z"`
	Output    string   `json:"output,omitempty" jsonschema:"yaml (default) or json"`
}

func render(in renderInput) *call {
	c := command("render")
	c.files("rules", in.Rules...)
	c.files("resources", in.Resources...)
	c.files("crd", in.CRDs...)
	c.files("observed", in.Observed...)
	c.flag("time", in.Time)
	c.flag("output", in.Output)
	return c.end()
}

type testInput struct {
	Paths     []string `json:"paths,omitempty" jsonschema:"test files, or folders with tests.yaml or *_test.yaml; default: the working folder"`
	Recursive bool     `json:"recursive,omitempty" jsonschema:"include subfolders"`
	Run       string   `json:"run,omitempty" jsonschema:"regular expression: only cases whose names match"`
	Coverage  bool     `json:"coverage,omitempty" jsonschema:"list the expressions that never ran"`
	Verbose   bool     `json:"verbose,omitempty" jsonschema:"also print the requests and Events of failed steps"`
	Output    string   `json:"output,omitempty" jsonschema:"text (default) or json"`
}

func test(in testInput) *call {
	c := command("test")
	c.set("recursive", in.Recursive)
	c.flag("run", in.Run)
	c.set("coverage", in.Coverage)
	c.set("verbose", in.Verbose)
	c.flag("output", in.Output)
	return c.end(in.Paths...)
}

type planInput struct {
	Rules        []string `json:"rules" jsonschema:"the changed rules: files, or folders of them"`
	Against      []string `json:"against,omitempty" jsonschema:"the rules that run; default: those of the cluster"`
	CRDs         []string `json:"crds,omitempty" jsonschema:"files or folders of changed CustomResourceDefinitions"`
	Installation string   `json:"installation,omitempty" jsonschema:"namespace/name of the installation, if there are several"`
	Output       string   `json:"output,omitempty" jsonschema:"text (default), json, or markdown for a pull request"`
}

func plan(in planInput) *call {
	c := command("plan", "--no-dry-run")
	c.cluster = true
	c.files("rules", in.Rules...)
	c.files("against", in.Against...)
	c.files("crd", in.CRDs...)
	c.flag("installation", in.Installation)
	c.flag("output", in.Output)
	return c.end()
}

type statusInput struct {
	Resources []string `json:"resources,omitempty" jsonschema:"KIND or KIND/NAME; default: all kinds of all rules"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"default: all"`
	All       bool     `json:"all,omitempty" jsonschema:"list ready resources, too"`
	Output    string   `json:"output,omitempty" jsonschema:"table (default), wide, json or yaml"`
}

func status(in statusInput) *call {
	c := command("status")
	c.cluster = true
	c.flag("namespace", in.Namespace)
	c.set("all", in.All)
	c.flag("output", in.Output)
	return c.end(in.Resources...)
}

type whyInput struct {
	Object    string   `json:"object" jsonschema:"KIND/NAME of a resource of the rules, or of one of its children"`
	Path      string   `json:"path,omitempty" jsonschema:"field, such as spec.template.spec.containers[name=app].image; default: why the object exists"`
	Condition string   `json:"condition,omitempty" jsonschema:"type of a condition to explain instead, such as Ready"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"of the object; default: that of the kubeconfig's context"`
	Rules     []string `json:"rules,omitempty" jsonschema:"rules files; default: those that run in the cluster"`
	CRDs      []string `json:"crds,omitempty" jsonschema:"files or folders of CustomResourceDefinitions"`
	Resources []string `json:"resources,omitempty" jsonschema:"files of resources, instead of those of a cluster"`
	Observed  []string `json:"observed,omitempty" jsonschema:"files of objects that exist, with resources"`
	Output    string   `json:"output,omitempty" jsonschema:"text (default), json or yaml"`
}

func why(in whyInput) *call {
	c := command("why")
	c.cluster = len(in.Resources) == 0
	c.flag("condition", in.Condition)
	c.flag("namespace", in.Namespace)
	c.files("rules", in.Rules...)
	c.files("crd", in.CRDs...)
	c.files("resources", in.Resources...)
	c.files("observed", in.Observed...)
	c.flag("output", in.Output)
	return c.end(in.Object, in.Path)
}

type treeInput struct {
	Object    string   `json:"object" jsonschema:"KIND/NAME of a resource"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"of the resource; default: that of the kubeconfig's context"`
	Rules     []string `json:"rules,omitempty" jsonschema:"rules files, for children that do not exist; default: none"`
	Output    string   `json:"output,omitempty" jsonschema:"table (default), wide, json or yaml"`
}

func tree(in treeInput) *call {
	c := command("tree")
	c.cluster = true
	c.flag("namespace", in.Namespace)
	c.files("rules", in.Rules...)
	c.flag("output", in.Output)
	return c.end(in.Object)
}
