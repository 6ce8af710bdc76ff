package server

// For tests outside the package.
var ListenUnix = listenUnix

// MaxScanned is how many records one ListEntries looks at.
const MaxScanned = maxScanned
