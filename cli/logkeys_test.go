package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// levels are the log methods that take keys and values after the message. The number is
// the index of their first key.
var levels = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3,
}

// keysLogged returns all log keys, each with one position.
func keysLogged(t *testing.T) map[string]string {
	t.Helper()
	keys, files := map[string]string{}, token.NewFileSet()
	for _, pattern := range []string{"*.go", "internal/*/*.go", "../engine/*.go", "../engine/*/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, key := range keysOf(n) {
					literal, ok := key.(*ast.BasicLit)
					if !ok {
						t.Errorf("%s: the key is no literal", files.Position(key.Pos()))
						continue
					}
					name, _ := strconv.Unquote(literal.Value)
					keys[name] = files.Position(key.Pos()).String()
				}
				return true
			})
		}
	}
	return keys
}

// keysOf returns the keys of a log call.
func keysOf(n ast.Node) (keys []ast.Expr) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logs(method.X) {
		return nil
	}
	first, ok := levels[method.Sel.Name]
	for i := first; ok && i < len(call.Args); i += 2 {
		keys = append(keys, call.Args[i])
	}
	return keys
}

// logs reports whether an expression is a log: log, x.log, x.logger(log) and so on.
func logs(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "log" || x.Name == "slog"
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "log")
	case *ast.CallExpr: // a method that adds keys
		method, ok := x.Fun.(*ast.SelectorExpr)
		return ok && method.Sel.Name == "logger"
	}
	return false
}

// TestLogKeysAreDocumented compares the log keys with the documented list.
func TestLogKeysAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/reference/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(data), "| key of the log | |\n")
	list, _, _ = strings.Cut(list, "\n\n")
	if !found {
		t.Fatal("docs/reference/monitoring.md has no list of the keys of the log")
	}
	var documented []string
	for line := range strings.Lines(list) {
		keys, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(keys, -1) {
			documented = append(documented, m[1])
		}
	}
	logged := keysLogged(t)
	if len(logged) < 10 {
		t.Fatalf("only these keys were found: %v", logged)
	}
	for _, key := range slices.Sorted(maps.Keys(logged)) {
		if !slices.Contains(documented, key) {
			t.Errorf("%s: docs/reference/monitoring.md does not list the key %q", logged[key], key)
		}
	}
	for _, key := range documented {
		if logged[key] == "" {
			t.Errorf("docs/reference/monitoring.md lists the key %q, which is never logged", key)
		}
	}
}
