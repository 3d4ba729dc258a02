// Package playground answers for the page in the folder playground: with what the commands
// validate and render print, with the diagrams of graph, and with what a cluster would do.
//
// It reads no files, sends nothing, and keeps nothing between two answers. It compiles to
// WebAssembly.
package playground
