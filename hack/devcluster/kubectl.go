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
	minor, err := kubectlMinor(kubeconfig)
	if err != nil {
		return err
	}
	at, err := findLayout(minor)
	if err != nil {
		return err
	}
	commands, err := at.commands()
	if err != nil {
		return err
	}
	kubectl := commands[kubectlName]
	switch {
	case kubectl == nil:
		return errNoKubectl
	case !isFile(kubectl[0]):
		return fmt.Errorf("kubectl: Kubernetes %s is not compiled: run %s=%s %s build", minor, envKubernetes, minor,
			os.Args[0])
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "KUBECONFIG=") })
	err = syscall.Exec(kubectl[0], slices.Concat(kubectl, args), append(env, "KUBECONFIG="+kubeconfig))
	return fmt.Errorf("%s: %w", kubectl[0], err)
}

// kubectlMinor returns the minor whose kubectl to run: that of the cluster if its data
// folder says so, because another minor may lack what the cluster has.
func kubectlMinor(kubeconfig string) (string, error) {
	if minor, err := recordedMinor(filepath.Dir(kubeconfig)); err != nil || minor != "" {
		return minor, err
	}
	if os.Getenv(envAssets) != "" {
		return "", nil
	}
	r, err := selectedRelease()
	return r.minor, err
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
		return "", nil, fmt.Errorf("%w: kubectl: name the cluster first: kubectl --data DIR …, or --kubeconfig FILE",
			errUsage)
	}
	return kubeconfig, args, nil
}
