package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// namespaceList is a flag that names the namespaces to watch. Without the flag,
// reconcel watches all namespaces. An empty value is an error, so that a mistake
// never widens the scope.
type namespaceList []string

func (n *namespaceList) flag(flags *pflag.FlagSet, usage string) {
	flags.Var(n, "namespaced", usage)
}

// String implements pflag.Value.
func (n *namespaceList) String() string { return strings.Join(*n, ",") }

// Type implements pflag.Value.
func (n *namespaceList) Type() string { return "namespaces" }

// Set implements pflag.Value. It adds names that are separated by commas.
func (n *namespaceList) Set(s string) error { return n.add(strings.Split(s, ",")) }

// Append implements pflag.SliceValue.
func (n *namespaceList) Append(s string) error { return n.add([]string{s}) }

// GetSlice implements pflag.SliceValue.
func (n *namespaceList) GetSlice() []string { return *n }

// Replace implements pflag.SliceValue.
func (n *namespaceList) Replace(names []string) error {
	if len(names) == 0 {
		return errors.New("it names no namespace; omit it to watch all namespaces")
	}
	*n = nil
	return n.add(names)
}

func (n *namespaceList) add(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%q is not the name of a namespace (write names separated by commas: team-a,team-b)", name)
		}
		if !slices.Contains(*n, name) {
			*n = append(*n, name)
		}
	}
	return nil
}
