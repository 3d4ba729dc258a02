package columns_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/sim/columns"
)

// answer is the table that a control plane has made of some objects.
type answer struct {
	Path    string                         `json:"path"`
	Time    time.Time                      `json:"time"`
	Columns []metav1.TableColumnDefinition `json:"columns"`
	Rows    []answerRow                    `json:"rows"`
}

type answerRow struct {
	Cells      []any                      `json:"cells"`
	Conditions []metav1.TableRowCondition `json:"conditions,omitempty"`
	Object     map[string]any             `json:"object"`
}

var answersFile = filepath.Join("testdata", "tables.json")

// printerColumns are those of the custom resources in the answers, by their apiVersion.
func printerColumns(t *testing.T, answers []answer) map[string][]any {
	t.Helper()
	of := map[string][]any{}
	for _, a := range answers {
		for _, row := range a.Rows {
			versions, _, _ := unstructured.NestedSlice(row.Object, "spec", "versions")
			for _, v := range versions {
				version := v.(map[string]any)
				of["example.com/"+version["name"].(string)], _, _ = unstructured.NestedSlice(version, "additionalPrinterColumns")
			}
		}
	}
	return of
}

// TestTablesAreThoseOfAControlPlane compares with the recorded answers. They are recorded with
// go test -tags integration ./sim/columns -update.
func TestTablesAreThoseOfAControlPlane(t *testing.T) {
	data, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	compareWith(t, readAnswers(t, data))
}

func readAnswers(t *testing.T, data []byte) (answers []answer) {
	t.Helper()
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func compareWith(t *testing.T, answers []answer) {
	t.Helper()
	custom := printerColumns(t, answers)
	for _, a := range answers {
		t.Run(a.Path, func(t *testing.T) {
			var list []*unstructured.Unstructured
			for _, row := range a.Rows {
				data, err := json.Marshal(row.Object)
				u := &unstructured.Unstructured{}
				if err == nil {
					err = u.UnmarshalJSON(data)
				}
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, u)
			}
			of := columns.Of(list[0].GroupVersionKind().GroupKind())
			if printed, ok := custom[list[0].GetAPIVersion()]; ok {
				var err error
				if of, err = columns.Custom(printed); err != nil {
					t.Fatal(err)
				}
			}
			// A second may begin between the answer and the time that is recorded with it.
			var diff string
			for _, late := range []time.Duration{0, time.Second} {
				if diff = cmp.Diff(a, tableOf(t, a, of.Table(list, a.Time.Add(-late), metav1.IncludeNone))); diff == "" {
					return
				}
			}
			t.Errorf("the table differs (- control plane, + ours):\n%s", diff)
		})
	}
}

// tableOf returns a table in the form of an answer.
func tableOf(t *testing.T, a answer, table *metav1.Table) answer {
	t.Helper()
	ours := answer{Path: a.Path, Time: a.Time}
	for _, column := range table.ColumnDefinitions {
		if column.Description == "" {
			t.Errorf("column %s has no description", column.Name)
		}
		column.Description = ""
		ours.Columns = append(ours.Columns, column)
	}
	for i, row := range table.Rows {
		ours.Rows = append(ours.Rows, answerRow{Conditions: row.Conditions, Object: a.Rows[i].Object})
		data, err := json.Marshal(row.Cells)
		if err == nil {
			err = json.Unmarshal(data, &ours.Rows[i].Cells)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(row.Cells) != len(ours.Columns) {
			t.Errorf("row %d has %d cells for %d columns", i, len(row.Cells), len(ours.Columns))
		}
	}
	return ours
}
