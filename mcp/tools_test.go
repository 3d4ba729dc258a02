package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestEveryToolAnswers has a client call each tool, and checks that the cluster saw reads only.
func TestEveryToolAnswers(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	c := newCluster(t, f)
	a := newAgent(t, f, "--kubeconfig", c.kubeconfig)
	f.write(t, "changed/rules.yaml", strings.Replace(rulesText, `"${self.spec.greeting}"`, `"${self.spec.greeting}!"`, 1))
	rules, crd := []string{"rules.yaml"}, []string{"crd.yaml"}
	calls := map[string][]struct {
		in   input
		says []string
	}{
		"validate": {
			{input{"rules": rules, "crds": crd, "strict": true}, []string{"1 rule ok", "exit code 0"}},
			{input{"rules": rules, "output": "json"}, []string{`{`, "exit code 0"}},
		},
		"explain": {
			{input{}, []string{"rules", "exit code 0"}},
			{input{"name": "elapsed"}, []string{"elapsed", "exit code 0"}},
			{input{"name": "cases.steps", "tests": true}, []string{"when", "exit code 0"}},
		},
		"eval": {
			{input{"expression": "self.spec.greeting + config.data.greeting", "resource": "shop.yaml", "rules": rules}, []string{"hellohello", "exit code 0"}},
			{input{"expression": "-1", "resource": "shop.yaml", "output": "type"}, []string{"int", "exit code 0"}},
		},
		"render": {{input{"rules": rules, "resources": []string{"shop.yaml"}, "crds": crd}, []string{"name: shop-config", "exit code 0"}}},
		"test": {
			{input{}, []string{"1 case", "exit code 0"}},
			{input{"paths": []string{"tests.yaml"}, "run": "greeting", "coverage": true, "verbose": true}, []string{"a greeting", "exit code 0"}},
		},
		"plan": {
			{input{"rules": []string{"changed"}, "crds": crd}, []string{"ConfigMap", `hello → hello!`, "exit code 1"}},
			{input{"rules": rules, "crds": crd, "output": "json"}, []string{`"changes": []`, "exit code 0"}},
		},
		"status": {
			{input{"all": true}, []string{"shop", "ready", "exit code 0"}},
			{input{"resources": []string{"website/shop"}, "namespace": "default", "output": "json"}, []string{`"ready"`, "exit code 0"}},
		},
		"why": {
			{input{"object": "configmap/shop-config", "path": "data.greeting"}, []string{"self.spec.greeting", `"hello"`, "in sync", "exit code 0"}},
			{input{"object": "website/shop", "condition": "Ready"}, []string{"all children are up to date", "exit code 0"}},
			{input{"object": "configmap/shop-config", "rules": rules, "resources": []string{"shop.yaml"}}, []string{"metadata.name", "exit code 0"}},
		},
		"tree": {{input{"object": "website/shop", "namespace": "default"}, []string{"shop-config", "exit code 0"}}},
	}
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if len(calls[tool.Name]) == 0 || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not called, or says that it writes", tool.Name)
		}
	}
	if len(tools.Tools) != len(calls) {
		t.Errorf("there are %d tools, and %d are called", len(tools.Tools), len(calls))
	}
	for tool, all := range calls {
		for _, call := range all {
			text, failed := a.call(t, tool, call.in)
			for _, want := range call.says {
				if !strings.Contains(text, want) || failed {
					t.Errorf("%s %v: expected %q, without an error (%v):\n%s", tool, call.in, want, failed, text)
				}
			}
		}
	}
	if len(c.seen()) == 0 {
		t.Error("the cluster was not asked")
	}
	for _, request := range c.seen() {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("the cluster saw %s", request)
		}
	}
}

// TestHostileInputs has an agent ask for what it must not see, and for what has no end.
func TestHostileInputs(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	c := newCluster(t, f)
	a := newAgent(t, f, "--kubeconfig", c.kubeconfig, "--timeout", "20s")
	outside := folder(t.TempDir())
	outside.write(t, "secret.txt", "outside of everything\n")
	outside.write(t, "rules.yaml", "outside of everything: [\n")
	secret := filepath.Join(string(outside), "secret.txt")
	away, err := filepath.Rel(string(f), secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.yaml": secret, "folder": string(outside), "endless.yaml": "/dev/zero", "links/text.txt": secret} {
		f.write(t, "links/rules.yaml", strings.Replace(rulesText, `"${self.spec.greeting}"`, `"${file('text.txt')}"`, 1))
		if err := os.Symlink(target, filepath.Join(string(f), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(string(f), "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(string(f), "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, `a,"b.yaml`, string(text))
	f.write(t, "sparse.yaml", "")
	if err := os.Truncate(filepath.Join(string(f), "sparse.yaml"), 20<<30); err != nil {
		t.Fatal(err)
	}
	f.write(t, "bomb.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\n"+aliases())
	f.write(t, "outside_test.yaml", "rules: "+away+"\ncrds: crd.yaml\ncases:\n- {name: a, given: "+secret+", steps: [{then: {snapshot: "+away+"}}]}\n")
	f.write(t, "snapshot_test.yaml", "rules: rules.yaml\ncrds: crd.yaml\ncases:\n- {name: a, given: shop.yaml, steps: [{then: {snapshot: "+away+"}}]}\n")
	f.write(t, "settings/reconcel.yaml", "kubeconfig: "+secret+"\nrules: ["+secret+"]\n")
	many := strings.Replace(rulesText, "  - id: config\n", "  - id: config\n    forEach: {i: lists.range(400)}\n", 1)
	f.write(t, "many.yaml", strings.NewReplacer("-config}", "-config}", `-config"`, `-${i}"`, `"${self.spec.greeting}"`,
		`"`+strings.Repeat("long ", 200)+`"`).Replace(many))
	one, shop, leak := []string{"rules.yaml"}, []string{"shop.yaml"}, []string{"leak"}
	calls := []struct {
		tool string
		in   input
		says string // "": whatever it says
	}{
		// Files outside of the folder.
		{"validate", input{"rules": []string{away}}, "is outside of"},
		{"validate", input{"rules": []string{secret}}, "is outside of"},
		{"validate", input{"rules": []string{"link.yaml"}}, "leads out of"},
		{"validate", input{"rules": []string{"folder"}}, "leads out of"},
		{"validate", input{"rules": []string{"links"}}, "a link leads out of"},
		{"validate", input{"rules": one, "crds": []string{"/etc/passwd"}}, "is outside of"},
		{"render", input{"rules": one, "resources": []string{c.kubeconfig}}, "is outside of"},
		{"render", input{"rules": one, "resources": shop, "observed": []string{secret}}, "is outside of"},
		{"eval", input{"expression": "file('" + away + "')", "resource": "shop.yaml"}, ""},
		{"test", input{"paths": []string{"outside_test.yaml"}}, "is outside of"},
		{"test", input{"paths": []string{"snapshot_test.yaml"}}, "is outside of"},
		{"plan", input{"rules": one, "against": []string{secret}}, "is outside of"},
		// Flags in the place of values.
		{"validate", input{"rules": []string{"--config=settings/reconcel.yaml"}}, "cannot be read"},
		{"explain", input{"name": "--help"}, ""},
		{"why", input{"object": "--kubeconfig=" + secret}, "is not an object"},
		{"tree", input{"object": "website/shop", "output": "table --watch"}, ""},
		{"status", input{"namespace": "../../api/v1/namespaces/default/secrets"}, ""},
		// The Secret.
		{"plan", input{"rules": leak, "crds": []string{"crd.yaml"}}, "withheld"},
		{"plan", input{"rules": leak, "crds": []string{"crd.yaml"}, "output": "json"}, "withheld"},
		{"why", input{"object": "configmap/shop-config", "path": "data.greeting", "rules": leak}, "withheld"},
		{"why", input{"object": "website/shop", "path": "status.word", "rules": leak, "output": "json"}, "withheld"},
		{"why", input{"object": "secret/password", "path": "data.password"}, ""},
		{"tree", input{"object": "secret/password", "output": "json"}, ""},
		{"status", input{"resources": []string{"secret/password"}, "output": "json"}, ""},
		{"eval", input{"expression": "string(base64.decode(secret.data.password))", "resource": "shop.yaml", "rules": leak}, ""},
		// What is huge or has no end.
		{"validate", input{"rules": []string{"endless.yaml"}}, "leads out of"},
		{"validate", input{"rules": []string{"sparse.yaml"}}, "has more than 8 MiB"},
		{"validate", input{"rules": []string{"bomb.yaml"}}, ""},
		{"render", input{"rules": one, "resources": []string{"pipe.yaml"}}, "is neither a file nor a folder"},
		{"validate", input{"rules": []string{"pipe.yaml"}}, "is neither a file nor a folder"},
		{"eval", input{"expression": strings.Repeat("1+", 40<<10) + "1", "resource": "shop.yaml"}, "more than 64 KiB"},
		// Names that flags would split.
		{"eval", input{"expression": "self.metadata.name", "resource": `a,"b.yaml`}, "exit code 0"},
		{"eval", input{"expression": "self.metadata.name", "resource": "shop.yaml\n" + away}, "cannot be read"},
		{"render", input{"rules": []string{"many.yaml"}, "resources": shop}, "the result has more than 256 KiB"},
		{"eval", input{"expression": strings.Repeat("(", 900<<10), "resource": "shop.yaml"}, ""},
		{"eval", input{"expression": endless(8), "resource": "shop.yaml"}, ""},
		{"test", input{"run": strings.Repeat("(a*)*", 1000)}, ""},
		{"explain", input{"name": "a\x00b"}, "zero byte"},
		// What no tool takes.
		{"approve", input{"change": "all"}, "unknown tool"},
		{"test", input{"update": true}, "additional properties"},
		{"validate", input{"rules": 5}, ""},
	}
	for _, call := range calls {
		text, _ := a.call(t, call.tool, call.in)
		if shown := fmt.Sprintf("%.300v", call.in); !strings.Contains(text, call.says) || strings.Contains(text, "context deadline exceeded") {
			t.Errorf("%s %s: expected %q:\n%.1000s … %s", call.tool, shown, call.says, text, text[max(0, len(text)-200):])
		}
		for _, leak := range leaks {
			if strings.Contains(text, leak) {
				t.Errorf("%s %.300v: it says %q:\n%.2000s", call.tool, call.in, leak, text)
			}
		}
	}
	if text, failed := a.call(t, "validate", input{"rules": one}); failed {
		t.Errorf("after all this, the server answers: %s", text)
	}
	for _, request := range c.seen() {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("the cluster saw %s", request)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "reconcel-mcp-[0-9]*")); len(left) > 4 { // Those of parallel tests.
		t.Errorf("folders are left: %v", left)
	}
}

// aliases returns lists of lists of the list a.
func aliases() string {
	var all strings.Builder
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&all, "%c: &%c [%s]\n", c, c, strings.Join(slices.Repeat([]string{"*" + string(c-1)}, 9), ","))
	}
	return all.String()
}

// endless returns an expression with nested loops.
func endless(depth int) string {
	if depth == 0 {
		return "1"
	}
	return fmt.Sprintf("lists.range(100).map(x%d, %s)", depth, endless(depth-1))
}

// TestTooLongMessageEndsTheSession has a client send one line without an end.
func TestTooLongMessageEndsTheSession(t *testing.T) {
	t.Parallel()
	a := newAgent(t, newFolder(t))
	if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "explain", Arguments: input{"name": strings.Repeat("x", mostInput+1)}}); err == nil {
		t.Error("the server read it")
	}
}

// TestSlowToolIsStopped has a tool take longer than it may.
func TestSlowToolIsStopped(t *testing.T) {
	t.Parallel()
	a := newAgent(t, newFolder(t), "--timeout", "1ms")
	if text, failed := a.call(t, "test", input{}); !failed || !strings.Contains(text, "it took longer than 1ms") {
		t.Errorf("it says %q", text)
	}
}

// TestNoCluster has a user start the server without a kubeconfig.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "gone"))
	a := newAgent(t, newFolder(t))
	if text, failed := a.call(t, "status", input{}); !failed || !strings.Contains(text, "no cluster") {
		t.Errorf("it says %q", text)
	}
	if text, failed := a.call(t, "validate", input{"rules": []string{"."}}); failed {
		t.Errorf("tools without a cluster answer %q", text)
	}
}

// TestReadme starts the server as the README says, and compares the tools and limits with those that it names.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var settings struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(block), &settings); err != nil {
		t.Fatal(err)
	}
	one := settings.Servers["reconcel"]
	if one.Command != "reconcel-mcp" {
		t.Errorf("the command is %q", one.Command)
	}
	f := newFolder(t)
	f.write(t, "rules/rules.yaml", rulesText)
	cmd := exec.Command(filepath.Join(programs, "mcp"), one.Args...)
	cmd.Dir = string(f)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if !strings.Contains(string(text), "`"+tool.Name+"`") {
			t.Errorf("the README does not name %s", tool.Name)
		}
	}
	limits := fmt.Sprintf("%d MiB for a message, %d KiB for a result, two minutes for a tool", mostInput>>20, mostOutput>>10)
	if !strings.Contains(string(text), limits) {
		t.Errorf("the README does not say %q", limits)
	}
	if text, failed := (agent{session}).call(t, "validate", input{"rules": []string{"rules.yaml"}}); failed || !strings.Contains(text, "1 rule ok") {
		t.Errorf("validate says %q", text)
	}
}
