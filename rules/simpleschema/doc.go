// Package simpleschema reads and writes a compact form of the schemas of CRDs, which kro
// calls SimpleSchema.
//
//	image: string | required=true description="The image to run"
//	replicas: integer | default=1 minimum=0
//	ports: "[]integer"
//	env: map[string]string
//	ingress:
//	  enabled: boolean | default=false
//	workers: "[]Worker"
//	template: v1/PodTemplateSpec
//	settings:
//	  level: string
//	  "*": any
//
// A field is a type and its markers, or a map of fields. A type is string, integer, number
// (or float), boolean, object, any, intOrString, the name of a custom type, a type of
// Kubernetes after the version of its API, or one of these after [] or map[string]. An object
// keeps all fields; any is a value of any type. With "*", a map of fields keeps those that it
// does not list.
//
// Markers are the keywords of OpenAPI by their names, and:
//
//	required=true      the field is required
//	required=false     the field is optional, however rules read it
//	enum="a,b"         the values, separated by commas
//	immutable=true     the field cannot be changed
//	validation="EXPR"  a CEL expression over self, as in x-kubernetes-validations
//
// Values with blanks are quoted; those of default may be JSON. As in kro, an object of which
// no field is required and one has a default is itself {} by default, so that the API server
// sets the defaults in it.
package simpleschema
