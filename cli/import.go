package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/findings"
	"reconcel/cli/internal/format"
	"reconcel/cli/internal/output"
	"reconcel/internal/conversion"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// importFlags are the flags of import.
type importFlags struct {
	recursive bool
	folder    string
	force     bool
}

// A project is what import can read.
type project struct {
	command string // of reconcel-convert
	kind    string // that is converted
}

const importHelp = `

The result is rules.yaml, formatted as by fmt, crd.yaml, and example.yaml if the files
have resources of the new kinds. It goes to stdout, or with -o to a folder. Existing
files are overwritten with --force only.

What has no counterpart is left out of the result. It is an error on stderr, with its
position in the input and what to do instead. Notes say what works differently. Check
the result with validate --strict.

Exit code: 0 everything is converted, 1 something has no counterpart or nothing was
found, 2 wrong usage, 3 a file cannot be read or written.`

// An importCommand converts definitions of other projects.
type importCommand struct {
	out    *printer
	loader *loader
}

func (c importCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Convert definitions of other projects into rules",
		Long:  "Convert definitions of other projects into rules and CustomResourceDefinitions.",
		Args:  flagsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Misused("nothing to import: give kro or crossplane, and files")
		},
	}
	cmd.AddCommand(c.importFrom(project{conversion.Kro, "ResourceGraphDefinition"}, &cobra.Command{
		Use:   "kro FILE...",
		Short: "Convert ResourceGraphDefinitions of kro",
		Long: `Convert ResourceGraphDefinitions of kro: each becomes a rule, and its schema a
CustomResourceDefinition.` + importHelp,
		Example: `  reconcel import kro webapp.yaml -o webapp/
  reconcel validate -f webapp/rules.yaml --crd webapp/crd.yaml --strict`,
	}))
	cmd.AddCommand(c.importFrom(project{conversion.Crossplane, "Composition"}, &cobra.Command{
		Use:   "crossplane FILE...",
		Short: "Convert Compositions of Crossplane",
		Long: `Convert Compositions of Crossplane with patch-and-transform, in a pipeline or in
resources: each becomes a rule. CompositeResourceDefinitions become
CustomResourceDefinitions.` + importHelp,
		Example: `  reconcel import crossplane definition.yaml composition.yaml -o database/`,
	}))
	return cmd
}

// importFrom completes the command of a project.
func (c importCommand) importFrom(from project, cmd *cobra.Command) *cobra.Command {
	f := &importFlags{}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.Misused("no files: give files or folders, or - for stdin")
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, paths []string) error { return c.importFiles(f, from, paths) }
	flags := cmd.Flags()
	recursiveFlag(flags, &f.recursive)
	flags.StringVarP(&f.folder, "output", "o", "", "write the files into this `folder` instead of printing them")
	flags.BoolVar(&f.force, "force", false, "overwrite existing files in the folder")
	return cmd
}

func (c importCommand) importFiles(f *importFlags, from project, paths []string) error {
	if err := once(paths); err != nil {
		return err
	}
	sources, unread := c.loader.reader(ruleFiles{recursive: f.recursive}).YAML(paths)
	if len(unread) > 0 {
		return exit.Failure(unread)
	}
	result, err := convertFiles(from.command, sources)
	if err != nil {
		return err
	}
	_ = result.Findings.Report(c.out.stderr) // An error of stderr cannot be reported.
	if len(result.Files) == 0 {
		return exit.Wrong(fmt.Errorf("no %s in the files", from.kind))
	}
	if err := c.deliverFiles(f, result.Files); err != nil {
		return err
	}
	if findings.Invalid(result.Findings) {
		return exit.Silent(exit.No)
	}
	return nil
}

// convertFiles converts definitions with reconcel-convert, and lays out the rules as fmt does.
func convertFiles(command string, sources []source.File) (*conversion.Result, error) {
	in, err := json.Marshal(sources)
	if err != nil {
		return nil, exit.Failure(err)
	}
	out, err := runConvert("convert the files", in, command)
	if err != nil {
		return nil, err
	}
	result := &conversion.Result{}
	if err := json.Unmarshal(out, result); err != nil {
		return nil, exit.Failure(fmt.Errorf("%s printed something else than a result, it may be of another version: %w",
			conversion.Program, err))
	}
	if len(result.Files) > 0 {
		if result.Files[0].Data, err = format.Text(result.Files[0].Data, syntax.Schema()); err != nil {
			return nil, exit.Failure(err)
		}
	}
	return result, nil
}

// deliverFiles writes or prints the result.
func (c importCommand) deliverFiles(f *importFlags, all []source.File) error {
	if f.folder == "" {
		var texts [][]byte
		for _, file := range all {
			texts = append(texts, file.Data)
		}
		return c.out.print(bytes.Join(texts, []byte("---\n")))
	}
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return exit.Failure(err)
	}
	var exist []error
	for _, file := range all {
		path := filepath.Join(f.folder, file.Name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) && !f.force {
			exist = append(exist, fmt.Errorf("%s: file exists, overwrite it with --force", path))
		}
	}
	if len(exist) > 0 {
		return exit.Failure(errors.Join(exist...))
	}
	for _, file := range all {
		path := filepath.Join(f.folder, file.Name)
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, exit.Cause(err)))
		}
	}
	c.out.say("%s written to %s", output.Plural(len(all), "file"), f.folder)
	return nil
}

// runConvert runs a command of the program reconcel-convert, and returns what it prints. The error begins
// with what was to be done.
func runConvert(what string, stdin []byte, args ...string) ([]byte, error) {
	program, err := findConvert()
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(errs.String()); text != "" {
			err = errors.New(strings.TrimPrefix(text, "error: "))
		}
		return nil, exit.Wrong(fmt.Errorf("%s: %w", what, err))
	}
	return out.Bytes(), nil
}

// findConvert returns the path of the program: beside this one, or in PATH.
func findConvert() (string, error) {
	if own, err := os.Executable(); err == nil {
		if target, err := filepath.EvalSymlinks(own); err == nil {
			own = target // krew makes a link to the program.
		}
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(own), conversion.Program)); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(conversion.Program)
	if err != nil {
		return "", exit.Failure(fmt.Errorf("the program %s is neither beside reconcel nor in PATH: take it from the "+
			"archive of the release, or build it with make build-convert", conversion.Program))
	}
	return found, nil
}
