package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// user is a user of the cluster. The audit log shows the user of each request.
type user struct {
	name   string
	groups []string
}

const masters = "system:masters"

// userName restricts names to valid file names, because each user gets a
// kubeconfig.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*$`)

// parseUser reads NAME[:GROUP,...]. Groups may contain colons, names may not.
func parseUser(text string) (user, error) {
	name, groups, hasGroups := strings.Cut(text, ":")
	if !userName.MatchString(name) {
		return user{}, fmt.Errorf("%w: --user %q: want NAME[:GROUP,...], the name of letters, digits and . _ @ -", errUsage,
			text)
	}
	u := user{name: name}
	if hasGroups {
		u.groups = strings.Split(groups, ",")
	}
	return u, nil
}

const kubeconfigTemplate = `apiVersion: v1
kind: Config
clusters:
- name: devcluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: devcluster
  context: {cluster: devcluster, user: %[3]s}
current-context: devcluster
`

// writeKubeconfig writes a kubeconfig without references to other files, so that it
// can be copied anywhere.
func writeKubeconfig(path, server string, ca *authority, u user) error {
	pair, err := ca.user(u.name, u.groups)
	if err != nil {
		return fmt.Errorf("user %s: %w", u.name, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(kubeconfigTemplate, server, encode(ca.pem), fmt.Sprintf("%q", u.name), encode(pair.cert),
		encode(pair.key))
	return os.WriteFile(path, []byte(text), 0o600)
}
