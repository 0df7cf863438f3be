package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
)

// oldestDriver is the oldest release of the table: what it has may be older.
const oldestDriver = "375.26"

//go:embed testdata/nvml-symbols.csv
var symbolTable []byte

// firstDrivers reads the table of the first driver release whose header has a
// function; functions that no release has are left out.
func firstDrivers(table []byte) (map[string]string, error) {
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("driver table: %w", err)
	}
	if len(rows) < 2 || len(rows[0]) != 4 || rows[0][0] != "function" {
		return nil, fmt.Errorf("driver table: unexpected heading")
	}
	first := map[string]string{}
	for _, r := range rows[1:] {
		if r[1] != "" {
			first[r[0]] = r[1]
		}
	}
	return first, nil
}
