module reconcel/hack/devcluster

go 1.26.0
