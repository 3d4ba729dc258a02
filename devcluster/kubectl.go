package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// runKubectl replaces this process by kubectl. It requires an explicit cluster: the
// kubeconfig of the user could name an important one.
func runKubectl(args []string) error {
	kubeconfig, args, err := kubectlCluster(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(kubeconfig); err != nil {
		return fmt.Errorf("kubectl: %w", err)
	}
	at, err := findLayout()
	if err != nil {
		return err
	}
	commands, err := at.commands()
	if err != nil {
		return err
	}
	kubectl := commands[kubectlName]
	if kubectl == nil {
		return errNoKubectl
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "KUBECONFIG=") })
	err = syscall.Exec(kubectl[0], slices.Concat(kubectl, args), append(env, "KUBECONFIG="+kubeconfig))
	return fmt.Errorf("%s: %w", kubectl[0], err)
}

// kubectlCluster removes our own flags from the front. All others belong to
// kubectl.
func kubectlCluster(args []string) (kubeconfig string, rest []string, err error) {
	kubeconfig = os.Getenv(envKubeconfig)
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		if name != "--data" && name != "--kubeconfig" {
			break
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return "", nil, fmt.Errorf("%w: kubectl: %s needs a value", errUsage, name)
			}
			value, args = args[0], args[1:]
		}
		kubeconfig = value
		if name == "--data" {
			kubeconfig = filepath.Join(value, "kubeconfig")
		}
	}
	if kubeconfig == "" {
		return "", nil, fmt.Errorf("%w: kubectl: name the cluster first: kubectl --data DIR …, or --kubeconfig FILE", errUsage)
	}
	return kubeconfig, args, nil
}
