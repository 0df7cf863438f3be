package report

import (
	"errors"

	"nvtop-lite/monitor"
)

// SchemaError is what ParseJSON says of an object of another schema.
type SchemaError struct{ Schema string }

func (e *SchemaError) Error() string { return "schema " + e.Schema }

// ParseJSON reads an object that AppendJSON wrote.
func ParseJSON(line []byte) (*monitor.Snapshot, error) { return nil, errors.New("not yet") }
