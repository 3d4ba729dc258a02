package driver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CreateSettings creates a ConfigMap with an image for each name.
func (d *Driver) CreateSettings(ctx context.Context, names []string, image string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"image": image}}
		_, err := d.client.CoreV1().ConfigMaps(d.namespace).Create(ctx, settings, metav1.CreateOptions{})
		return err
	})
}

// ChangeSettings changes the image in a ConfigMap.
func (d *Driver) ChangeSettings(ctx context.Context, name, image string) error {
	body := fmt.Appendf(nil, `{"data":{"image":%q}}`, image)
	_, err := d.client.CoreV1().ConfigMaps(d.namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
