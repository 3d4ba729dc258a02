package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/format"
	"reconcel/cli/internal/ruletest"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// fmtFlags are the flags of fmt.
type fmtFlags struct {
	ruleFiles
	check, diff bool
}

// A fmtCommand formats files.
type fmtCommand struct {
	out    *printer
	loader *loader
}

func (c fmtCommand) command() *cobra.Command {
	f := &fmtFlags{}
	cmd := &cobra.Command{
		Use:   "fmt -f FILES...",
		Short: "Format rules files and test files",
		Long: `Format rules files and test files in place, and print the name of each file that
has changed. Keys come in the order of the documentation, maps are indented by two
blanks, lists are not indented, and several blank lines become one. Words such as
yes and dates, which other programs read as booleans and times, get quotes.

The meaning of a file never changes, and its comments stay with what is below them.
fmt keeps texts, quotes and everything within { } and [ ] as they are. A document
with anchors keeps the order of its keys. fmt leaves a file with errors unchanged,
and prints the errors as validate does.

In a folder, fmt formats rules files, tests.yaml and *_test.yaml. With -f -, it
reads stdin, and prints the result. Without -f, it formats the rules that
reconcel.yaml names.

Exit code: 0 done, 1 a file is invalid, or with --check or --diff not formatted, 2
wrong usage, 3 a file cannot be read or written.`,
		Example: `  reconcel fmt -f rules.yaml
  reconcel fmt -R -f . --check`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return c.fmt(f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.paths, "rules", "f", nil,
		"`file` or folder of rules and tests, or - for stdin; may be repeated")
	recursiveFlag(flags, &f.recursive)
	flags.BoolVar(&f.check, "check", false, "change nothing, and print the names of the files that are not formatted")
	flags.BoolVar(&f.diff, "diff", false, "change nothing, and print what fmt would change")
	cmd.MarkFlagsMutuallyExclusive("check", "diff")
	return cmd
}

func (c fmtCommand) fmt(f *fmtFlags) error {
	if len(f.paths) == 0 {
		return exit.Misused("no files: give a file or folder with -f")
	}
	if err := once(f.paths); err != nil {
		return err
	}
	all, unread := c.loader.reader(f.ruleFiles).Laid(f.paths)
	var wrong []error
	if len(unread) > 0 {
		wrong = append(wrong, exit.Failure(unread))
	}
	var b bytes.Buffer
	code := exit.Yes
	for _, file := range all {
		laid, err := layOut(file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if bytes.Equal(laid, file.Data) && !f.prints(file) {
			continue
		}
		if f.check || f.diff {
			code = exit.No
		}
		if err := f.tell(&b, file, laid); err != nil {
			wrong = append(wrong, exit.Failure(err))
		}
	}
	if err := c.out.print(b.Bytes()); err != nil {
		return err
	}
	return c.concludeFmt(code, wrong)
}

// prints reports whether the result goes to stdout because it comes from stdin.
func (f *fmtFlags) prints(file source.File) bool {
	return files.IsStdin(file) && !f.check && !f.diff
}

// layOut returns the layout of a file that loads.
func layOut(file source.File) ([]byte, error) {
	if files.IsTest(file.Name) {
		if _, err := ruletest.Parse(file); err != nil {
			return nil, err
		}
		return laidOut(file, ruletest.Schema())
	}
	if err := rules.Compile([]source.File{file}).Errors.Err(); err != nil {
		return nil, err
	}
	return laidOut(file, syntax.Schema())
}

func laidOut(file source.File, root *source.Schema) ([]byte, error) {
	laid, err := format.Text(file.Data, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return laid, nil
}

// tell writes a changed file, or prints what is asked for instead.
func (f *fmtFlags) tell(b *bytes.Buffer, file source.File, laid []byte) error {
	switch {
	case f.diff:
		text, err := format.Diff(file, laid)
		b.WriteString(text)
		return err
	case f.prints(file):
		b.Write(laid)
		return nil
	case !f.check:
		if err := overwrite(file.Name, laid); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", file.Name, exit.Cause(err))
		}
	}
	fmt.Fprintln(b, file.Name)
	return nil
}

// overwrite replaces the content of a file, and keeps its mode.
func overwrite(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, info.Mode()&fs.ModePerm)
}

// concludeFmt prints all errors, and returns the highest exit code.
func (c fmtCommand) concludeFmt(code int, wrong []error) error {
	for _, err := range wrong {
		c.out.complain(err)
		code = max(code, exit.No)
		if at, coded := exit.Code(err); coded {
			code = max(code, at)
		}
	}
	if code == exit.Yes {
		return nil
	}
	return exit.Silent(code) // Each error is already printed.
}
