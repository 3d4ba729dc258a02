package judge

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/test/race"
	"reconcel/test/soak"
)

// What judging rules may take, however they fill the files: CPU time and memory of the
// process, and how much more it allocates for rules of twice the size.
const (
	mostCPU    = 10 * time.Second // about 2 seconds on a machine that does nothing else
	mostMemory = 300 << 20
	mostGrowth = 2.6
)

// rule begins a rules file.
const rule = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: example.com/v1, kind: Web}\n"

// each joins n texts, with the number for each %d.
func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

const configMap = "template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}-%d'}"

// large are rules that grow with n.
var large = map[string]func(n int) string{
	"children": func(n int) string { return rule + "  children:\n" + each(n, "  - {id: c%d, "+configMap+"}}\n") },
	"literal names": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}}}\n")
	},
	"one name": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, when: self.spec.a%d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}\n")
	},
	"dependencies": func(n int) string {
		return rule + "  children:\n  - {id: c%d, " + strings.ReplaceAll(configMap, "%d", "x") + "}}\n" + chained(n, "  - {id: c%d, "+configMap+", data: {a: '${c%n.metadata.uid}'}}}\n")
	},
	"cycles": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, "+configMap+", data: {a: '${c%d.metadata.uid}'}}}\n")
	},
	"a let for all": func(n int) string {
		return rule + "  let: {all: ['a'" + each(n, ", '${c%d.metadata.uid}'") + "]}\n  children:\n" + each(n, "  - {id: c%d, "+configMap+"}}\n")
	},
	"let data": func(n int) string {
		return rule + "  let:\n    labels: {app: x" + each(n, ", k%d: '${self.metadata.name}'") + "}\n  children:\n" + each(n, "  - {id: c%d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'a%d', labels: '${labels}'}}}\n")
	},
	"entries of a let": func(n int) string {
		return rule + "  let:\n    m: {a: x" + each(n, ", k%d: '${a}-${self.metadata.name}'") + "}\n  status: {m: '${m.a}'}\n"
	},
	"entries that read entries": func(n int) string {
		return rule + "  let:\n    m: {a0: '${self.spec.a}'" + chained(min(n, 400), ", a%n: {x: '${a%d}', y: '${a%d}'}") + each(n, ", k%d: '${a0}'") + "}\n  status: {m: '${m}'}\n"
	},
	"joined lets": func(n int) string {
		return rule + "  let:\n    l0: self.metadata.name\n" + joined(min(n, 400)) + "  children:\n" + each(n, "  - {id: c%d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${l%d}'}}}\n")
	},
	"conditions of elements": func(n int) string {
		return rule + "  conditions:\n" + each(n, "  - {forEach: {a: self.spec.a}, type: 'A%d-${a.b}', when: a.c}\n")
	},
	"ready": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, readyWhen: has(child.data), "+configMap+"}}\n")
	},
	"misspelt names": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: child%d, "+configMap+", data: {a: '${chidl%d.data}'}}}\n")
	},
	"misspelt list": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: child%d, "+configMap+"}}\n") + "  status:\n    x:\n" + each(n, "    - '${[chidl%d, chlid%d, hcild%d]}'\n")
	},
	"misspelt after": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: child%d, after: [chidl%d], "+configMap+"}}\n")
	},
	"misspelt fields": func(n int) string {
		return rule + "  let:\n    a: {b: 1" + each(n, ", field%d: 1") + "}\n  status:\n    x:\n" + each(n, "    - ${a.feild%d}\n")
	},
	"unknown fields": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, "+configMap+", dat%d: 1}}\n")
	},
	"unknown keys": func(n int) string { return rule + "  children:\n" + each(n, "  - {idd%d: c%d}\n") },
	"unknown kinds": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, template: {apiVersion: apps/v1, kind: Deploymnt%d, metadata: {name: x%d}}}\n")
	},
	"status":            func(n int) string { return rule + "  status:\n" + each(n, "    field%d: ${self.spec.a%d}\n") },
	"equal expressions": func(n int) string { return rule + "  status:\n    x: '" + each(n, "${1}") + "'\n" },
	"expressions":       func(n int) string { return rule + "  status:\n    x: '" + each(n, "${%d}") + "'\n" },
	"long expressions": func(n int) string {
		return rule + "  status:\n    x:\n" + each(n/100+1, "    - ${[1"+strings.Repeat(", self.spec.a", 100)+"]}\n")
	},
	"values": func(n int) string { return rule + "  status:\n    x: [a" + each(n, ",a") + "]\n" },
	"one line": func(n int) string {
		return rule + "  status: {\"x\": \"y\"" + each(n, ", \"f%d\": {\"a\": [\"${self.spec.a}\"]}") + "}\n"
	},
	"mistakes in line": func(n int) string {
		return rule + "  children: [{\"x\": \"y\"}" + each(n, ", {\"f%d\": {\"a\": 1}}") + "]\n"
	},
	"blank lines":  func(n int) string { return rule + "  status: {}\n" + each(n, "\n") },
	"comments":     func(n int) string { return rule + "  status:\n" + each(n, "    # x\n") + "    a: 1\n" },
	"documents":    func(n int) string { return each(n, "---\n") + rule },
	"broken":       func(n int) string { return rule + "  status:\n" + each(n, "    a%d: ${self.spec.a}\n") + "    x: [\n" },
	"broken flow":  func(n int) string { return rule + "  status: {" + each(n, "a%d: b, ") + "c: ${a}}\n" },
	"broken quote": func(n int) string { return rule + "  status:\n    y: \"x\n" + each(n, "    a%d: ${self.spec.a}\n") },
	"aliases": func(n int) string {
		return rule + "  status:\n    a: &a [1, 2, 3]\n    x: [1" + each(n, ", *a") + "]\n"
	},
	"mounts": func(n int) string {
		return rule + "  children:\n  - id: p\n    onChange: keep\n    template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [" + each(n, "{name: v%d, emptyDir: {}}, ") +
			"], containers: [{name: a, image: a, volumeMounts: [" + each(n, "{name: vv%d, mountPath: /a%d}, ") + "]}]}}\n"
	},
	"services": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: p%d, onChange: keep, template: {apiVersion: v1, kind: Pod, metadata: {name: 'a%d', labels: {a: b%d}}, spec: {containers: [{name: a, image: a}]}}}\n"+
			"  - {id: s%d, template: {apiVersion: v1, kind: Service, metadata: {name: 'a%d'}, spec: {selector: {a: c%d}, ports: [{port: 1, targetPort: x}]}}}\n")
	},
	"references": func(n int) string {
		return rule + "  children:\n" + each(n, "  - {id: c%d, "+configMap+"}}\n"+
			"  - {id: p%d, onChange: keep, template: {apiVersion: v1, kind: Pod, metadata: {name: 'p%d'}, spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: '${self.metadata.name}-%dx'}}]}]}}}\n")
	},
	"keys": func(n int) string {
		return rule + "  children:\n  - {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {" + each(n, "a%d: b, ") + "}}}\n" +
			"  - {id: p, onChange: keep, template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: a, env: [" +
			each(n, "{name: a%d, valueFrom: {configMapKeyRef: {name: c, key: b%d}}}, ") + "]}]}}}\n"
	},
}

// chained joins n texts, with the number for each %d and the next number for each %n.
func chained(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("%d", fmt.Sprint(i), "%n", fmt.Sprint(i+1)).Replace(format))
	}
	return b.String()
}

// joined makes lets that each double the text of the previous one.
func joined(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "    l%d: l%d + \"-\" + l%d\n", i+1, i, i)
	}
	return b.String()
}

func judgeLarge(text string) Result {
	return Of(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}}), schema.Builtin(), Policy{})
}

// TestRulesOfTwiceTheSize judges rules of two sizes. Allocations tell how much work that
// is, independent of the machine.
func TestRulesOfTwiceTheSize(t *testing.T) {
	race.Skip(t)
	judgeLarge(rule) // It loads the schemas of Kubernetes.
	for i, name := range slices.Sorted(maps.Keys(large)) {
		text := large[name]
		if soak.Skips(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			const n = 300
			once, twice := allocations(text(n)), allocations(text(2*n))
			if growth := float64(twice) / float64(once); growth > mostGrowth {
				t.Errorf("%d allocations for %d, %d for %d: %.1f times as many", once, n, twice, 2*n, growth)
			}
		})
	}
}

func allocations(text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	judgeLarge(text)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// judgeHere is the environment variable that tells a test process to run the measurement.
const judgeHere = "RECONCEL_TEST_JUDGE"

// peak matches the peak of the resident memory of a process. The usage that its parent gets
// from the system includes the parent's own memory at the start.
var peak = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// judgeElsewhere judges rules in a process of their own, and returns its CPU time, the peak of its memory, and what it prints.
func judgeElsewhere(t *testing.T, text string) (cpu time.Duration, memory int64, out []byte) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v")
	cmd.Env = append(os.Environ(), judgeHere+"=here")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := peak.FindSubmatch(out)
	if found == nil {
		t.Fatalf("no peak of the memory:\n%s", out)
	}
	kibibytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
	cpu, memory = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), kibibytes<<10
	t.Logf("%v, %d MiB", cpu, memory>>20)
	return cpu, memory, out
}

// TestRulesThatFillAFile judges rules of the largest size. It tries again above a limit, because other programs slow the
// processor and the garbage collector down.
func TestRulesThatFillAFile(t *testing.T) {
	if os.Getenv(judgeHere) != "" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			t.Fatal(err)
		}
		v := judgeLarge(string(text))
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes, %d errors, %s", len(text), len(v.Errors), peak.Find(status))
		if len(v.Errors) > 0 {
			t.Logf("%.300s", v.Errors[0])
		}
		return
	}
	if race.Enabled() || runtime.GOOS != "linux" {
		t.Skip("the race detector slows everything down, and other systems have no /proc")
	}
	for i, name := range slices.Sorted(maps.Keys(large)) {
		text := large[name]
		if soak.Skips(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cpu, memory, out := judgeElsewhere(t, filled(text))
			for i := 0; i < 4 && (cpu > mostCPU || memory > mostMemory); i++ {
				var c time.Duration
				var m int64
				c, m, out = judgeElsewhere(t, filled(text))
				cpu, memory = min(cpu, c), min(memory, m)
			}
			if cpu > mostCPU || memory > mostMemory {
				t.Errorf("%v of CPU and %d MiB, at most %v and %d MiB are allowed\n%s", cpu, memory>>20, mostCPU, mostMemory>>20, out)
			}
		})
	}
}

// filled returns about the largest text that is allowed.
func filled(text func(n int) string) string {
	const sample = 1000
	n := sample * source.MaxFile / len(text(sample))
	for len(text(n)) > source.MaxFile {
		n -= n / 20
	}
	return text(n)
}
