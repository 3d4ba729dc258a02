module reconcel/devcluster

go 1.26.0
