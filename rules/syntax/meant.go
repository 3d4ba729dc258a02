package syntax

import (
	"bytes"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// Meant reports whether a file is meant to have rules, as far as one can see: people keep
// CRDs, samples and settings in the folder of their rules.
func Meant(file source.File) bool {
	r := &source.Reader{}
	docs, isYAML := r.Documents(file)
	if !isYAML {
		return bytes.Contains(file.Data, []byte(group+"/")) || bytes.Contains(file.Data, []byte("kind: "+Kind+"\n"))
	}
	return len(docs) == 0 || slices.ContainsFunc(docs, isMeant)
}

// group is the API group of rules files.
const group = "reconcel.dev"

// isMeant reports whether a document is meant to have rules, also if its apiVersion or
// kind is missing or misspelt.
func isMeant(v source.Value) bool {
	if !v.IsMap() {
		return false
	}
	apiVersion := v.Peek("apiVersion").Scalar()
	name, _, _ := strings.Cut(apiVersion, "/")
	return name == group || v.Peek("kind").Scalar() == Kind || source.Nearest(apiVersion, []string{APIVersion}) != "" ||
		apiVersion == "" && !v.Peek("rules").Missing() && v.Peek("cases").Missing()
}

// isForeign reports whether a document is an object of another API. Beside rules, it is
// passed over.
func isForeign(v source.Value) bool {
	return v.IsMap() && v.Peek("apiVersion").Scalar() != "" && v.Peek("kind").Scalar() != "" && !isMeant(v)
}
