package server

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"colonnade/cmd/internal/server/openapi"
	"colonnade/domain"
)

// document is the OpenAPI document, made when it is first asked for: all
// routes are mounted by then.
type document struct {
	once sync.Once
	text []byte
	err  error
}

// OpenAPI is the document of all operations, as JSON. It is made from the
// table of routes and the types of their bodies, so it cannot leave one out.
// Call it after the last Handle.
func (s *Server) OpenAPI() ([]byte, error) {
	s.document.once.Do(func() { s.document.text, s.document.err = openapi.Describe(s.operations) })
	return s.document.text, s.document.err
}

// OpenAPIYAML is the same as YAML, for people and for files.
func (s *Server) OpenAPIYAML() ([]byte, error) {
	text, err := s.OpenAPI()
	if err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, fmt.Errorf("server: reading the OpenAPI document: %w", err)
	}
	plain(&node)
	out, err := yaml.Marshal(&node)
	if err != nil {
		return nil, fmt.Errorf("server: writing the OpenAPI document: %w", err)
	}
	return out, nil
}

// plain drops the style that JSON was written in.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

func (s *Server) mountOpenAPI() {
	s.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/openapi.json", Permission: domain.Public, Tag: "process",
		Summary: "This document.", Response: map[string]any{},
	}, func(c *gin.Context) error {
		text, err := s.OpenAPI()
		if err != nil {
			return err
		}
		c.Data(http.StatusOK, "application/json", text)
		return nil
	})
}
