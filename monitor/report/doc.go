// Package report writes snapshots for those who are not looking at the live
// screen: as JSON, CSV or metrics for programs, and as text for people.
package report
