package scaffold

// autoscaler returns the object that scales another one, or nil.
func (a *application) autoscaler(of *object) *object {
	for _, o := range a.objects {
		if o.gvk.Kind != "HorizontalPodAutoscaler" && o.gvk.Kind != "ScaledObject" || a.namespaceOf(o) != a.namespaceOf(of) {
			continue
		}
		kind := textAt(o.given, "spec", "scaleTargetRef", "kind")
		if kind == "" {
			kind = "Deployment" // as KEDA does
		}
		if kind == of.gvk.Kind && textAt(o.given, "spec", "scaleTargetRef", "name") == of.name {
			return o
		}
	}
	return nil
}

// leavesReplicas reports whether an autoscaler changes the replicas that an object has in
// the manifests. The rule then sets them only when it creates the object.
func (a *application) leavesReplicas(o *object) bool {
	spec, _ := o.given["spec"].(map[string]any)
	return spec["replicas"] != nil && a.autoscaler(o) != nil
}

// describeReplicas adds a note about replicas that belong to an autoscaler.
func (a *application) describeReplicas() {
	for _, o := range a.objects {
		if a.leavesReplicas(o) {
			a.note("%s: spec.replicas is in ignoreFields, so that the rules do not undo what %s does", o, a.autoscaler(o))
		}
	}
}
