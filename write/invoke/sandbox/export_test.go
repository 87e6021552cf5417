package sandbox

// Confine lets a test try the doors of a confined process.
var Confine = confine
