package scaffold

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAddresses replaces the names of Services where they are hosts, and nowhere else.
func TestAddresses(t *testing.T) {
	service := &object{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, name: "db", id: "service"}
	templates := &templater{app: &application{namespace: "shop", objects: []*object{service}}}
	const name = "${service.metadata.name}"
	for text, want := range map[string]string{
		"db:5432":                             name + ":5432",
		"--url=http://db/x":                   "--url=http://" + name + "/x",
		"http://db":                           "http://" + name,
		"postgres://me:pw@db:5432/db":         "postgres://me:pw@" + name + ":5432/db",
		"db.shop.svc.cluster.local:80,db:443": name + "." + selfNamespace + ".svc.cluster.local:80," + name + ":443",
		"db.shop ${x}":                        name + "." + selfNamespace + " $${x}",
		"db-0.db.shop.svc:5432":               "db-0." + name + "." + selfNamespace + ".svc:5432",
		"db@$(POD).db.$(POD_NAMESPACE).svc":   "db@$(POD)." + name + ".$(POD_NAMESPACE).svc",
		"port = 1\nservice_name = db\n":       "port = 1\nservice_name = " + name + "\n",
		"server: db":                          "server: " + name,
		"name: db":                            "",
		"server: db-2":                        "",
		"my.db:5432":                          "",
		"db":                                  "",
		"db/migrations":                       "",
		"db: 5432":                            "",
		"--image=db:15.2":                     "",
		"--image=db:v1":                       "",
		"my-db:5432":                          "",
		"db.other.svc":                        "",
		"mydb:5432":                           "",
	} {
		var got any
		templates.connectText(place{value: text, set: func(v any) { got = v }})
		if want == "" && got != nil || want != "" && got != expression(want) {
			t.Errorf("%q is %v, expected %q", text, got, want)
		}
	}
}
