package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestAction(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, path, tag string
		permission        domain.Permission
		want              string
	}{
		{"POST", "/auth/session", "console", domain.Public, "sign_in"},
		{"DELETE", "/auth/session", "console", domain.Authenticated, "sign_out"},
		{"DELETE", "/auth/sessions/:session_id", "console", domain.Authenticated, "sign_out"},
		{"POST", "/auth/links", "console", domain.Authenticated, "create"},
		{"POST", "/sql/query", "sql", domain.QuerySQL, "run_sql"},
		{"GET", "/sql/schema", "sql", domain.QuerySQL, ""},
		{"POST", "/keys/", "keys", domain.EditKeys, "create"},
		{"DELETE", "/keys/:key_prefix", "keys", domain.EditKeys, "revoke"},
		{"POST", "/keys/:key_prefix/rotate", "keys", domain.EditKeys, "rotate"},
		{"DELETE", "/admin/simple/accounts/api-keys/:api_key_id", "accounts", domain.Admin, "revoke"},
		{"POST", "/admin/simple/accounts/projects/memberships/", "accounts", domain.Admin, "create"},
		{"POST", "/admin/audit/query", "audit", domain.Admin, ""},
		{"PUT", "/secrets/:name", "secrets", domain.EditSecrets, "change"},
		{"DELETE", "/secrets/:name", "secrets", domain.EditSecrets, "delete"},
		{"POST", "/applications/", "applications", domain.EditApplications, "create"},
		{"POST", "/applications/query", "applications", domain.ViewApplications, ""},
		{"PUT", "/applications/:application_id", "applications", domain.EditApplications, "change"},
		{"POST", "/applications/:application_id/archive", "applications", domain.EditApplications, "archive"},
		{"POST", "/applications/revisions/deploy", "applications", domain.DeployEnvironment, "deploy"},
		{"POST", "/environments/revisions/commit", "environments", domain.EditEnvironments, "deploy"},
		{"POST", "/evaluations/runs/:run_id/close/:status", "evaluations", domain.EditEvaluations, "close"},
		{"POST", "/evaluations/results/", "evaluations", domain.AnnotateEvaluations, ""},
		{"DELETE", "/evaluations/results/:result_id", "evaluations", domain.AnnotateEvaluations, "delete"},
		{"POST", "/simple/evaluations/:evaluation_id/scenarios/remove", "evaluations", domain.AnnotateEvaluations, "remove"},
		{"POST", "/otlp/v1/traces", "otlp", domain.AddSpans, ""},
		{"POST", "/annotations/", "annotations", domain.EditSpans, ""},
		{"PATCH", "/annotations/:trace_id", "annotations", domain.EditSpans, "change"},
		{"DELETE", "/traces/:trace_id", "traces", domain.EditTraces, "delete"},
		{"POST", "/services/invoke", "services", domain.RunService, ""},
		{"POST", "/something/new", "something", "edit_something", "create"},
	} {
		got := domain.Operation{Method: tt.method, Path: tt.path, Tag: tt.tag, Permission: tt.permission}.Action()
		require.Equal(t, tt.want, got, "%s %s", tt.method, tt.path)
	}
}
