package server

// For tests outside the package.
var ListenUnix = listenUnix
