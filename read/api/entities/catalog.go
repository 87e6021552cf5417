package entities

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
	get := func(path, summary string, response any, h func(*gin.Context) error) {
		l.mount(domain.Operation{Method: http.MethodGet, Path: path, Summary: summary, Response: response}, h)
	}
	get(base+"/types/", "The JSON types that schemas refer to.", typesReply{}, l.types)
	get(base+"/types/:type_key", "One JSON type.", typeReply{}, l.typ)
	get(base+"/templates/", "The templates that "+l.family.Plural+" begin with.", templatesReply{}, l.templates)
	get(base+"/templates/:template_key", "One template.", templateReply{}, l.template)
	get(base+"/templates/:template_key/presets/", "The presets of a template.", presetsReply{}, l.presets)
	get(base+"/templates/:template_key/presets/:preset_key", "One preset.", presetReply{}, l.preset)
	if l.family.Role == entity.FlagEvaluator {
		get("/simple/"+l.family.Plural+"/templates", "The templates that evaluators begin with, each with its settings.", simpleTemplatesReply{}, l.simpleTemplates)
	}
}

// The replies of the catalog. Source: contract §5.7.
type (
	typesReply struct {
		Count int            `json:"count"`
		Types []catalog.Type `json:"types"`
	}
	typeReply struct {
		Count int           `json:"count"`
		Type  *catalog.Type `json:"type,omitempty"`
	}
	templatesReply struct {
		Count     int                `json:"count"`
		Templates []catalog.Template `json:"templates"`
	}
	simpleTemplatesReply struct {
		Count     int              `json:"count"`
		Templates []simpleTemplate `json:"templates"`
	}
	simpleTemplate struct {
		catalog.Template
		// DirectUse tells whether an evaluator works without any setting.
		DirectUse        bool                       `json:"direct_use"`
		SettingsTemplate map[string]catalog.Setting `json:"settings_template"`
	}
	templateReply struct {
		Count    int               `json:"count"`
		Template *catalog.Template `json:"template,omitempty"`
	}
	presetsReply struct {
		Count   int              `json:"count"`
		Presets []catalog.Preset `json:"presets"`
	}
	presetReply struct {
		Count  int             `json:"count"`
		Preset *catalog.Preset `json:"preset,omitempty"`
	}
)

func (l lineageRoutes) types(c *gin.Context) error {
	types := l.registry.Catalog().Types()
	c.PureJSON(http.StatusOK, typesReply{Count: len(types), Types: types})
	return nil
}

func (l lineageRoutes) typ(c *gin.Context) error {
	for _, t := range l.registry.Catalog().Types() {
		if t.Key == c.Param("type_key") {
			c.PureJSON(http.StatusOK, typeReply{Count: 1, Type: &t})
			return nil
		}
	}
	return l.one(c, "", nil, nil)
}

func (l lineageRoutes) templates(c *gin.Context) error {
	templates := l.registry.Catalog().Templates(l.family.Role)
	c.PureJSON(http.StatusOK, templatesReply{Count: len(templates), Templates: templates})
	return nil
}

func (l lineageRoutes) simpleTemplates(c *gin.Context) error {
	templates := l.registry.Catalog().Templates(l.family.Role)
	out := make([]simpleTemplate, len(templates))
	for i, t := range templates {
		out[i] = simpleTemplate{t, t.DirectUse(), t.Settings()}
	}
	c.PureJSON(http.StatusOK, simpleTemplatesReply{Count: len(out), Templates: out})
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
	c.PureJSON(http.StatusOK, templateReply{Count: 1, Template: &t})
	return nil
}

func (l lineageRoutes) presets(c *gin.Context) error {
	t, _ := l.find(c)
	presets := t.Presets()
	c.PureJSON(http.StatusOK, presetsReply{Count: len(presets), Presets: presets})
	return nil
}

func (l lineageRoutes) preset(c *gin.Context) error {
	t, _ := l.find(c)
	for _, p := range t.Presets() {
		if p.Key == c.Param("preset_key") {
			c.PureJSON(http.StatusOK, presetReply{Count: 1, Preset: &p})
			return nil
		}
	}
	return l.one(c, "", nil, nil)
}
