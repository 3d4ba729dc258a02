// Package testfiles loads the files of reconcel test: the tests, and the rules, CRDs
// and objects that they name. Loaded tests run in package ruletest.
package testfiles
