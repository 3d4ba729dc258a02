// Reconcel is a Kubernetes controller whose behaviour is a file of rules.
package main

import (
	"os"

	"reconcel/cli"
)

func main() {
	os.Exit(cli.Main())
}
