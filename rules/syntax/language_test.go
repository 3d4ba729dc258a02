package syntax

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
)

// outline prints every non-empty field of v with its position, and no digests.
func outline(b *strings.Builder, indent, name string, v reflect.Value) {
	line := func(format string, args ...any) {
		fmt.Fprintf(b, "%s%s: %s\n", indent, name, fmt.Sprintf(format, args...))
	}
	at := func(p source.Pos) string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }
	if v.IsZero() {
		return
	}
	switch x := v.Interface().(type) {
	case source.Digest:
		return
	case source.Pos:
		line("%s", at(x))
		return
	case source.String:
		line("%q at %s", x.Value, at(x.Pos))
		return
	case source.Duration:
		line("%s at %s", x.Value, at(x.Pos))
		return
	case *source.Expr:
		line("«%s» at %s", x.Text, at(x.Pos))
		return
	case *source.Node:
		line("%s at %s", show(x), at(x.Pos))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		outline(b, indent, name, v.Elem())
	case reflect.Struct:
		line("")
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				outline(b, indent+"  ", f.Name, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			outline(b, indent, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	default:
		line("%#v", v.Interface())
	}
}

// TestLanguage parses a file with every key of the language, and compares the whole
// result.
func TestLanguage(t *testing.T) {
	file, err := Parse(read(t, "testdata/good/language.yaml"))
	if err != nil {
		t.Fatal("\n" + report(t, err))
	}
	var b strings.Builder
	for i, r := range file.Rules {
		outline(&b, "", fmt.Sprintf("Rules[%d]", i), reflect.ValueOf(r))
	}
	got := strings.ReplaceAll(b.String(), ": \n", ":\n")
	const expected = "testdata/good/language.txt"
	if *update {
		if err := os.WriteFile(expected, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
