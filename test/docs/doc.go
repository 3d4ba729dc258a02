// Package docs tests the documentation: it has no code of its own.
//
// Every relative link and anchor in *.md leads somewhere. Every package of the tree
// is named in docs/contributing/architecture.md, and every path in it exists. Every block of
// console runs, and prints what the page shows:
//
//	```console
//	$ reconcel validate -f rules.yaml
//	rules.yaml: 1 rule ok
//	```
//
// The blocks of a page run in order, in one shell and one folder, beside copies of
// examples/ and crds/. In a block, a line "..." stands for any lines, and a command without
// output only has to succeed. docs/reference/cli.md leaves out common flags like this: each
// flag of a command is in its help there, or in the table of common flags.
// Ages, times, hashes and the like may differ: see varying.
//
// A comment before a block says what is special about it:
//
//	<!-- file: rules.yaml -->   the block is written to this file
//	<!-- cluster -->            it runs on the development cluster, as an integration test
//	<!-- not run: REASON -->    it does not run
//	<!-- run by: FILE -->       before the first block of a page: that test runs the page
//
// `go test ./test/docs -update` writes into the pages what the commands print;
// with -tags integration it does so for the pages with a cluster too.
package docs
