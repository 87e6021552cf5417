package sandbox

import (
	"encoding/json"
	"time"

	"colonnade/domain"
	"colonnade/write/invoke/template"
)

// The kinds of jobs.
const (
	kindJavaScript = "javascript"
	kindPython     = "python"
	kindRender     = "render"
)

// job is what a child reads, as JSON, to the end of its input.
type job struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitempty"`
	Calls  []Call `json:"calls,omitempty"`

	Format template.Format `json:"format,omitempty"`
	Texts  []string        `json:"texts,omitempty"`
	Vars   map[string]any  `json:"vars,omitempty"`
	Limits template.Limits `json:"limits"`

	CPU         time.Duration `json:"cpu"`
	MemoryBytes int64         `json:"memory_bytes"`
}

// answer is what a child writes: a result or an error.
type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	// Function is the one that gave the value.
	Function string `json:"function,omitempty"`

	Texts []string `json:"texts,omitempty"`
	Error *failure `json:"error,omitempty"`
}

// failure is an error on its way between processes of one build.
type failure struct {
	Kind    domain.Kind `json:"kind"`
	Message string      `json:"message"`
}

// maxAnswer leaves room for the frame around results, and for the escapes of
// several rendered texts.
func (c Config) maxAnswer() int { return 2*c.MaxOutputBytes + 64<<10 }
