package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
)

// mountCatalog mounts templates, presets and types. Source: contract §5.7.
func (l lineageRoutes) mountCatalog() {
	base := "/" + l.family.Plural + "/catalog"
	get := func(path, summary string, h func(*gin.Context) error) {
		l.mount(domain.Operation{Method: http.MethodGet, Path: path, Summary: summary}, h)
	}
	get(base+"/types/", "The JSON types that schemas refer to.", l.types)
	get(base+"/types/:type_key", "One JSON type.", l.typ)
	get(base+"/templates/", "The templates that "+l.family.Plural+" begin with.", l.templates)
	get(base+"/templates/:template_key", "One template.", l.template)
	get(base+"/templates/:template_key/presets/", "The presets of a template.", l.presets)
	get(base+"/templates/:template_key/presets/:preset_key", "One preset.", l.preset)
	if l.family.Role == entity.FlagEvaluator {
		get("/simple/"+l.family.Plural+"/templates", "The templates that evaluators begin with.", l.templates)
	}
}

func (l lineageRoutes) types(c *gin.Context) error {
	types := l.registry.Catalog().Types()
	c.PureJSON(http.StatusOK, gin.H{"count": len(types), "types": types})
	return nil
}

func (l lineageRoutes) typ(c *gin.Context) error {
	for _, t := range l.registry.Catalog().Types() {
		if t.Key == c.Param("type_key") {
			c.PureJSON(http.StatusOK, gin.H{"count": 1, "type": t})
			return nil
		}
	}
	return l.one(c, "", nil, nil)
}

func (l lineageRoutes) templates(c *gin.Context) error {
	templates := l.registry.Catalog().Templates(l.family.Role)
	c.PureJSON(http.StatusOK, gin.H{"count": len(templates), "templates": templates})
	return nil
}

func (l lineageRoutes) find(c *gin.Context) (catalog.Template, bool) {
	return l.registry.Catalog().Template(l.family.Role, c.Param("template_key"))
}

func (l lineageRoutes) template(c *gin.Context) error {
	t, ok := l.find(c)
	if !ok {
		return l.one(c, "", nil, nil)
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, "template": t})
	return nil
}

func (l lineageRoutes) presets(c *gin.Context) error {
	t, _ := l.find(c)
	presets := t.Presets()
	c.PureJSON(http.StatusOK, gin.H{"count": len(presets), "presets": presets})
	return nil
}

func (l lineageRoutes) preset(c *gin.Context) error {
	t, _ := l.find(c)
	for _, p := range t.Presets() {
		if p.Key == c.Param("preset_key") {
			c.PureJSON(http.StatusOK, gin.H{"count": 1, "preset": p})
			return nil
		}
	}
	return l.one(c, "", nil, nil)
}
