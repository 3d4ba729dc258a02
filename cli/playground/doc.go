// Package playground answers for the page in the folder playground what the commands validate,
// render and graph print, and plays what a cluster would do.
//
// It reads no files, sends nothing, and keeps nothing between two answers. It compiles to
// WebAssembly.
package playground
