// Package apifacts holds the tables of rules/lint and rules/check against a real API
// server. facts.yaml has objects that show what the tables say. answers.yaml has what the
// API server of the development cluster answers. To record it again:
//
//	go test ./test/apifacts -tags integration -run TestAnswers -update
//
// The unit tests of rules/lint and rules/check compare their tables with the answers. The
// integration test compares the answers with the live API server.
package apifacts
