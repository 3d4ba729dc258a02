package devcluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// modulePath is the module path in the repository's go.mod.
const modulePath = "reconcel"

// supervisor returns the path of bin/devcluster, and compiles it and the components that
// it starts if necessary.
var supervisor = sync.OnceValues(func() (string, error) {
	path, err := Build("devcluster", "hack/devcluster")
	if err != nil {
		return "", err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" || os.Getenv("DEVCLUSTER_KUBECONFIG") != "" {
		return path, nil // The components or the cluster already exist.
	}
	return path, run(exec.Command(path, "build", "--missing"))
})

// Build builds the program in a folder of the repository, and returns its path in bin/.
// It always calls go build, which detects whether there is anything to do: then all
// packages together link the program once.
func Build(name, folder string) (path string, err error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	path = filepath.Join(root, "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Packages are tested in parallel, and one test must not overwrite the binary while
	// another test starts it.
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("%s: lock: %w", lock.Name(), err)
	}
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(root, folder)
	return path, run(cmd)
}

// run shows the output of a slow command to the reader of the test's output.
func run(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// repository finds the root of the repository above the working directory, which is the
// package's folder in a test.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if declaresModule(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above %s has the go.mod of module %s", start, modulePath)
		}
	}
}

func declaresModule(goMod string) bool {
	file, err := os.Open(goMod)
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if lines.Text() == "module "+modulePath {
			return true
		}
	}
	return false
}
