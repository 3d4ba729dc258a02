package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// fileFunction is the function that stands for the text of a file beside the rules. It takes a literal, so that the
// files are known before expressions are compiled, which then have the text as a constant.
const fileFunction = "file"

// FilesIn returns the paths of the files that an expression reads.
func FilesIn(src *source.Expr) (paths []string) {
	b, err := base()
	if err != nil {
		return nil
	}
	parsed, issues := b.env.Parse(src.Text)
	if issues.Err() != nil {
		return nil // Compiling tells.
	}
	forFiles(parsed.NativeRep(), func(_, arg ast.Expr) {
		if path, literal := textLiteral(arg); literal {
			paths = append(paths, path)
		}
	})
	return paths
}

// forFiles visits the calls of file().
func forFiles(a *ast.AST, visit func(call, arg ast.Expr)) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() || e.AsCall().FunctionName() != fileFunction {
			return
		}
		if args := e.AsCall().Args(); len(args) == 1 {
			visit(e, args[0])
		}
	}))
}

func textLiteral(e ast.Expr) (text string, literal bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, literal := e.AsLiteral().(types.String)
	return string(s), literal
}

// readFiles replaces the calls of file() by the texts of the files.
func readFiles(src *source.Expr, a *ast.AST) (wrong *Issue) {
	forFiles(a, func(call, arg ast.Expr) {
		path, literal := textLiteral(arg)
		at := slices.IndexFunc(src.Beside, func(t source.TextFile) bool { return t.Path == path })
		i := Issue{Pos: Position(src, a, arg.ID())}
		switch {
		// The digest of a rule has the files whose paths are in the text.
		case !literal || !strings.Contains(src.Text, path):
			i.Message = "file() takes a path in quotes, without escapes: files are read when the rules load"
		case at < 0:
			i.Message = fmt.Sprintf("file(%q): there are no files beside these rules", path)
			i.Hint = "put the text into a ConfigMap, and read it with a lookup"
		case src.Beside[at].Wrong != "":
			i.Message = fmt.Sprintf("file(%q): %s", path, src.Beside[at].Wrong)
		default:
			call.SetKindCase(ast.NewExprFactory().NewLiteral(call.ID(), types.String(src.Beside[at].Text)))
			return
		}
		wrong = &i
	})
	return wrong
}
