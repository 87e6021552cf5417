// The page stands at /docs or /docs/, perhaps below prefixes such as /api: the
// document is beside it.
SwaggerUIBundle({
  url: location.pathname.replace(/\/docs\/?$/, "") + "/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  persistAuthorization: false,
  tagsSorter: "alpha",
  validatorUrl: null,
});
