// Package define compiles the definitions of rules: the named values and functions
// that the rules of one document share.
//
//	defined, errs := define.Compile(file.Definitions, budget)
//
// It sorts the definitions by what they use, and refuses cycles. Package expr checks and
// computes them, and writes functions out where they are called.
package define
