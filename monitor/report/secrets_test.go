package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

// TestSecretsLeaveNowhere: JSON, CSV and text show the same masked command line,
// and metrics none.
func TestSecretsLeaveNowhere(t *testing.T) {
	for command, want := range map[string]string{
		"vllm serve m --api-key sk-S3 -tp 8":                     "vllm serve m --api-key *** -tp 8",
		"jupyter-lab --ServerApp.token=S3 --port 1":              "jupyter-lab --ServerApp.token=*** --port 1",
		"mlflow server --uri postgresql://kim:S3@db/x":           "mlflow server --uri postgresql://kim:***@db/x",
		`serve {"api_key": "S3 S3", "n": 1}`:                     `serve {"api_key": *** "n": 1}`,
		"serve --key -----BEGIN KEY-----\nS3\n-----END KEY-----": "serve --key ***",
	} {
		s := rich()
		s.GPUs = s.GPUs[:1]
		s.GPUs[0].Processes = s.GPUs[0].Processes[:1]
		s.GPUs[0].Processes[0].Command = monitor.OfText(command)

		var decoded struct {
			GPUs []struct{ Processes []struct{ Command string } }
		}
		line := AppendJSON(nil, s)
		if err := json.Unmarshal(line, &decoded); err != nil {
			t.Fatal(err)
		}
		if got := decoded.GPUs[0].Processes[0].Command; got != want {
			t.Errorf("JSON of %q: %q", command, got)
		}
		table := AppendProcessCSV(nil, s, monitor.Choice{}, true)
		rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%v: %q", err, rows)
		}
		if got := rows[1][slices.Index(rows[0], "command")]; got != want {
			t.Errorf("CSV of %q: %q", command, got)
		}
		once := AppendText(nil, s, plain)
		if !strings.Contains(string(once), want[:12]) {
			t.Errorf("text of %q:\n%s", command, once)
		}
		for _, out := range [][]byte{line, table, once, AppendCSV(nil, s, true), AppendPrometheus(nil, s)} {
			if bytes.Contains(out, []byte("S3")) {
				t.Errorf("%q leaves:\n%s", command, out)
			}
		}
	}
}
