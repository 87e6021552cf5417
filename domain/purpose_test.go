package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestPurposeNarrowsTheRole(t *testing.T) {
	t.Parallel()
	every := []domain.Permission{
		domain.Authenticated, domain.AddSpans, domain.EditSpans, domain.EditTraces, domain.ViewSpans, domain.QuerySQL, domain.ViewProject,
		domain.ViewKeys, domain.EditKeys, domain.ViewSecrets, domain.EditSecrets, domain.RunService, domain.EditApplications,
	}
	tests := []struct {
		name    string
		role    string
		purpose domain.Purpose
		want    []domain.Permission
	}{
		{"ingest adds spans only", domain.RoleOwner, domain.PurposeIngest, []domain.Permission{domain.Authenticated, domain.AddSpans}},
		{"read views data, not keys", domain.RoleOwner, domain.PurposeRead, []domain.Permission{domain.Authenticated, domain.ViewSpans, domain.QuerySQL, domain.ViewProject}},
		{"sql runs SQL only", domain.RoleOwner, domain.PurposeSQL, []domain.Permission{domain.Authenticated, domain.QuerySQL}},
		{"full has what the role has", domain.RoleOwner, domain.PurposeFull, every},
		{"no purpose is full", domain.RoleOwner, "", every},
		{"a purpose gives nothing that the role lacks", domain.RoleViewer, domain.PurposeIngest, []domain.Permission{domain.Authenticated}},
		{"nor SQL", domain.RoleViewer, domain.PurposeSQL, []domain.Permission{domain.Authenticated}},
		{"an unknown purpose has nothing", domain.RoleOwner, "everything", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			caller := domain.Principal{Role: tt.role, Purpose: tt.purpose}
			var got []domain.Permission
			for _, p := range every {
				if caller.Allows(p) {
					got = append(got, p)
				}
			}
			require.Equal(t, tt.want, got)
			require.False(t, caller.Allows(domain.Admin))
		})
	}
}
