// Reconcel is a Kubernetes controller that is configured by rules files.
package main

import (
	"os"

	"reconcel/cli"
)

func main() {
	os.Exit(cli.Main())
}
