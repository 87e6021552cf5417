package sandbox

// Confine lets a test try what a confined process cannot do.
var Confine = confine
