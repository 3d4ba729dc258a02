package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const crdsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// createCRDs creates the CustomResourceDefinitions in a folder, and waits until the API
// server serves their kinds. The controllers start later: a garbage collector that
// starts earlier discovers new kinds only every 30 seconds.
func (c *cluster) createCRDs(ctx context.Context) error {
	if c.options.crds == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(c.options.crds, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = errors.New("no *.yaml files found")
	}
	if err != nil {
		return fmt.Errorf("--crds %s: %w", c.options.crds, err)
	}
	for _, file := range files {
		manifest, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := c.api.createManifest(ctx, crdsPath, manifest); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return c.await(ctx, c.allEstablished)
}

// allEstablished returns an error that names a CustomResourceDefinition that is not
// served yet.
func (c *cluster) allEstablished(ctx context.Context) error {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if _, err := c.api.get(ctx, crdsPath, &list); err != nil {
		return err
	}
	for _, crd := range list.Items {
		established := false
		for _, condition := range crd.Status.Conditions {
			established = established || condition.Type == "Established" && condition.Status == "True"
		}
		if !established {
			return fmt.Errorf("CustomResourceDefinition %s is not established yet", crd.Metadata.Name)
		}
	}
	return nil
}
