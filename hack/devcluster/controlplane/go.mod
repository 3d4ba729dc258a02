// The requirements are those of one minor of Kubernetes, in ../kubernetes:
//
//	go build -modfile=../kubernetes/1.37.mod .
//
// This file only marks the folder of the module, which go needs also with -modfile.
module reconcel/hack/devcluster/controlplane

go 1.24.0
