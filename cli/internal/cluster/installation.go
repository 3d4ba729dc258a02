package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/inventory"
)

// ErrNotInstalled says that no installation has ever run in a cluster.
var ErrNotInstalled = errors.New("no installation of reconcel found in the cluster: there is no ConfigMap with the " +
	"label " + inventory.Selector + " whose name ends with " + inventory.Name(""))

// An InstallationQuery says which installations a command is about.
type InstallationQuery struct {
	Namespace, Name string // "": any
	// Home is the namespace of the context: an installation may be there, if inventories cannot be listed.
	Home string
	// Flags are the flags that name an installation, for errors.
	Flags string
}

// Inventories returns the inventories of all installations. On an error, some may be missing.
func (c *Cluster) Inventories(ctx context.Context) (all []inventory.Stored, err error) {
	options := metav1.ListOptions{LabelSelector: inventory.Selector}
	err = ForEach(ctx, c.Client.Resource(inventory.Resource), options, func(u *unstructured.Unstructured) {
		if stored, ok := inventory.Of(u); ok {
			all = append(all, stored)
		}
	})
	return all, err
}

// Installations returns the inventories of the installations that a query is about. If it names one that does not
// exist, the error names those that do. On another error, some may be missing.
func (c *Cluster) Installations(ctx context.Context, q InstallationQuery) ([]inventory.Stored, error) {
	if q.Namespace != "" && q.Name != "" {
		stored, found, err := c.inventory(ctx, q.Namespace, q.Name)
		if err != nil {
			return nil, err
		}
		if found {
			return []inventory.Stored{stored}, nil
		}
	}
	all, err := c.Inventories(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return c.readable(ctx, q, err)
	case err != nil:
		return all, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(stored inventory.Stored) bool {
		return q.Namespace != "" && q.Namespace != stored.Namespace || q.Name != "" && q.Name != stored.Installation
	})
	switch {
	case len(found) > 0 || q.Namespace == "" && q.Name == "":
		return found, nil
	case len(all) == 0:
		return nil, fmt.Errorf("%s: %w", q.missing(), ErrNotInstalled)
	}
	return nil, fmt.Errorf("%s; those that exist: %s", q.missing(), inventory.Names(all))
}

// readable returns the installations that may be read although inventories may not be listed: the ones with the
// usual name in the namespace that is asked for, or else in that of the manifests and in that of the context.
func (c *Cluster) readable(ctx context.Context, q InstallationQuery,
	unlisted error) (all []inventory.Stored, err error) {
	unlisted = fmt.Errorf("inventories may not be listed in all namespaces, give %s: %w", q.Flags, unlisted)
	namespaces := []string{q.Namespace}
	if q.Namespace == "" {
		namespaces = slices.Compact([]string{"reconcel-system", q.Home})
	}
	for _, namespace := range namespaces {
		if stored, found, err := c.inventory(ctx, namespace, cmp.Or(q.Name, "reconcel")); err == nil && found {
			all = append(all, stored)
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case q.Namespace != "" || q.Name != "":
		return nil, fmt.Errorf("%s; %w", q.missing(), unlisted)
	}
	return nil, unlisted
}

// missing says that there is no such installation.
func (q InstallationQuery) missing() string {
	switch {
	case q.Name == "":
		return "there is no installation in the namespace " + q.Namespace
	case q.Namespace == "":
		return "there is no installation with the name " + q.Name
	}
	s := inventory.Stored{Namespace: q.Namespace, Installation: q.Name}
	return fmt.Sprintf("there is no installation %s: %s does not exist", s.Name(), s)
}

// inventory returns the inventory of one installation.
func (c *Cluster) inventory(ctx context.Context, namespace, name string) (s inventory.Stored, found bool, err error) {
	u, err := Get(ctx, c.Client.Resource(inventory.Resource).Namespace(namespace), inventory.Name(name))
	if u == nil || err != nil {
		return s, false, err
	}
	s, _ = inventory.Of(u)
	return s, true, nil
}
