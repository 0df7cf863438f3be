// Package report writes snapshots for those who are not looking at the live
// screen: as one line of JSON for programs, and as text for people.
package report
