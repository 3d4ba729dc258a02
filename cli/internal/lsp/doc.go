// Package lsp is a language server for rules files: diagnostics, completion, hover, go
// to definition and quick fixes, over the Language Server Protocol 3.17.
//
// Diagnostics are the findings of validate --strict, through the same judgement. Each
// file is judged by itself.
//
// While a file is being written it is often not valid YAML. So an outline of its lines,
// which needs indentation only, says where the cursor is. Types come from the last
// content of the file in which all rules could be read.
//
// The package has its own framing of JSON-RPC, which is small. The libraries for the
// protocol bring web sockets and loggers, which the controller would carry.
package lsp
