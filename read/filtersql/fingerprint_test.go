package filtersql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/filter/filterjson"
	"colonnade/read/filtersql"
)

// Filters that differ in values only have one fingerprint.
func TestFilterFingerprint(t *testing.T) {
	t.Parallel()
	fingerprint := func(conditions string) uint64 {
		e, err := filterjson.Parse([]byte(`{"conditions":[` + conditions + `]}`))
		require.NoError(t, err)
		c, err := filtersql.Filter(e)
		require.NoError(t, err)
		return c.Fingerprint
	}
	seen := map[uint64]string{}
	for _, same := range [][]string{
		{``},
		{`{"field":"attributes","key":"model","value":"a"}`, `{"field":"attributes","key":"model","value":"b"}`},
		{`{"field":"attributes","key":"model","operator":"contains","value":"a"}`, `{"field":"attributes","key":"model","operator":"contains","value":"b"}`},
		{`{"field":"attributes","key":"score","operator":"lt","value":1}`, `{"field":"attributes","key":"score","operator":"lt","value":2}`},
		{`{"field":"attributes","key":"other","operator":"lt","value":1}`},
		{`{"field":"attributes","key":"other","operator":"lt","value":1},{"field":"session_id","value":"s"}`, `{"field":"attributes","key":"other","operator":"lt","value":3},{"field":"session_id","value":"t"}`},
		{`{"operator":"or","conditions":[{"field":"attributes","key":"other","operator":"lt","value":1},{"field":"session_id","value":"s"}]}`},
		{`{"field":"session_id","value":"s"}`, `{"field":"session_id","value":"t"}`},
		{`{"field":"session_id","operator":"is_not","value":"s"}`},
		{`{"field":"status_code","value":"STATUS_CODE_ERROR"}`, `{"field":"status_code","value":"STATUS_CODE_OK"}`},
		{`{"field":"start_time","operator":"gt","value":"2026-03-11T00:00:00Z"}`, `{"field":"start_time","operator":"gt","value":"2026-03-12T00:00:00Z"}`},
		{`{"field":"created_at","operator":"gt","value":"2026-03-11T00:00:00Z"}`},
		{`{"field":"references","operator":"in","value":[{"slug":"a"}]}`, `{"field":"references","operator":"in","value":[{"slug":"b"}]}`},
		{`{"field":"references","operator":"in","value":[{"slug":"a","attributes":{"key":"evaluator"}}]}`},
	} {
		of := fingerprint(same[0])
		require.NotContains(t, seen, of, same[0])
		seen[of] = same[0]
		for _, other := range same[1:] {
			require.Equal(t, of, fingerprint(other), other)
		}
	}
}
