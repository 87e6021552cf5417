package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		role string
		p    domain.Permission
		want bool
	}{
		{"viewer reads spans", domain.RoleViewer, domain.ViewSpans, true},
		{"viewer writes nothing", domain.RoleViewer, domain.EditSpans, false},
		{"annotator annotates", domain.RoleAnnotator, domain.EditSpans, true},
		{"annotator deletes no traces of others", domain.RoleAnnotator, domain.EditTraces, false},
		{"editor deletes traces of others", domain.RoleEditor, domain.EditTraces, true},
		{"annotator commits nothing", domain.RoleAnnotator, domain.EditApplications, false},
		{"viewer looks at evaluations", domain.RoleViewer, domain.ViewEvaluations, true},
		{"viewer adds nothing to evaluations", domain.RoleViewer, domain.AnnotateEvaluations, false},
		{"annotator adds to evaluations", domain.RoleAnnotator, domain.AnnotateEvaluations, true},
		{"annotator makes and closes none", domain.RoleAnnotator, domain.EditEvaluations, false},
		{"editor makes evaluations", domain.RoleEditor, domain.EditEvaluations, true},
		{"editor deploys", domain.RoleEditor, domain.DeployEnvironment, true},
		{"editor makes no keys", domain.RoleEditor, domain.EditKeys, false},
		{"developer makes keys", domain.RoleDeveloper, domain.EditKeys, true},
		{"developer stops at a guard", domain.RoleDeveloper, domain.GuardEnvironments, false},
		{"admin passes a guard", domain.RoleAdmin, domain.GuardEnvironments, true},
		{"owner is no administrator of the service", domain.RoleOwner, domain.Admin, false},
		{"a permission that is in no table", domain.RoleOwner, "fly", false},
		{"an unknown role", "king", domain.ViewSpans, false},
		{"an unknown role at a public route", "king", domain.Public, true},
		{"no role", "", domain.Authenticated, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, domain.Allows(tt.role, tt.p))
		})
	}
}

func TestLesserRole(t *testing.T) {
	t.Parallel()
	require.Equal(t, domain.RoleViewer, domain.LesserRole(domain.RoleOwner, domain.RoleViewer))
	require.Equal(t, domain.RoleEditor, domain.LesserRole(domain.RoleEditor, domain.RoleOwner))
	require.Empty(t, domain.LesserRole(domain.RoleOwner, ""))
}

// Every permission that a role may have is listed for the owner.
func TestPermissionsAreListed(t *testing.T) {
	t.Parallel()
	require.Len(t, domain.Principal{Role: domain.RoleOwner}.Permissions(), 32)
	require.Equal(t, []domain.Permission{domain.AddSpans}, domain.Principal{Role: domain.RoleOwner, Purpose: domain.PurposeIngest}.Permissions())
	require.Contains(t, domain.Principal{Role: domain.RoleEditor}.Permissions(), domain.EditTraces)
	require.NotContains(t, domain.Principal{Role: domain.RoleAnnotator}.Permissions(), domain.EditTraces)
	require.Empty(t, domain.Principal{Role: "nobody"}.Permissions())
}
