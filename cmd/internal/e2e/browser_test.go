//go:build embedded && console

package e2e_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/demo"
)

// A real Chromium drives the console of this service over the demo: read/console/web/e2e
// says what must hold. `make test-console` runs it.
func TestConsoleInBrowser(t *testing.T) {
	s := newService(t)
	atWork(t, s.Outbox.Run)
	web := httptest.NewServer(s.Server.Handler())
	t.Cleanup(web.Close)
	plan := demo.Plan{BaseURL: web.URL, Key: s.keys["ours owner"], Traces: 60, Over: 6 * time.Hour, Seed: 1}
	require.NoError(t, demo.Run(t.Context(), plan, io.Discard, time.Now))
	compared(s)
	link := s.as("ours owner", http.MethodPost, "/auth/links", "")
	require.Equal(t, http.StatusOK, link.Code, link.Text)
	url, _ := link.Body["url"].(string)

	cmd := exec.CommandContext(t.Context(), "node", "e2e/run.mjs")
	cmd.Dir = "../../../read/console/web"
	cmd.Env = append(os.Environ(), "COLONNADE_TEST_URL="+web.URL, "COLONNADE_TEST_LINK="+url, "COLONNADE_TEST_KEY="+s.keys["ours owner"], "COLONNADE_TEST_VIEWER="+s.keys["ours viewer"])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(t, cmd.Run())
}

// compared runs two versions of an application over the same testcases: the first does not
// know four of the answers and fails for one.
func compared(s *service) {
	s.t.Helper()
	capitals := map[string]string{
		"Chile": "Santiago", "France": "Paris", "Ghana": "Accra", "Italy": "Rome", "Japan": "Tokyo", "Kenya": "Nairobi",
		"Nepal": "Kathmandu", "Norway": "Oslo", "Peru": "Lima", "Poland": "Warsaw", "Portugal": "Lisbon", "Spain": "Madrid",
	}
	var rows []string
	for _, country := range slices.Sorted(maps.Keys(capitals)) {
		rows = append(rows, fmt.Sprintf(`{"country":%q,"correct_answer":%q}`, country, capitals[country]))
	}
	testset := s.testset("capitals", rows...)
	exact := s.judge("exact", `{"uri":"svc:builtin:auto_exact_match:v0","parameters":{"correct_answer_key":"correct_answer"}}`)
	brevity := s.judge("brevity", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function evaluate(inputs, outputs) { return {score: 1 - outputs.length / 20, reason: outputs.length + ' characters'} }",
		"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number","x-better":"higher"},"reason":{"type":"string"}}}}}`)
	for i, script := range []string{
		`function main(inputs) { if (inputs.country === 'Nepal') throw new Error('no map of Nepal'); return inputs.country.length > 5 ? 'I am not sure.' : inputs.correct_answer }`,
		`function main(inputs) { return inputs.correct_answer }`,
	} {
		app := s.subject(fmt.Sprintf("geographer-%d", i+1), fmt.Sprintf(`{"uri":"svc:custom:code:v0","runtime":"javascript","script":%q}`, script))
		id := s.evaluation(fmt.Sprintf(`{"name":"capitals × geographer %d","data":{"testset_steps":[%q],"application_steps":[%q],"evaluator_steps":{%q:"auto",%q:"auto"}}}`, i+1, testset, app, exact, brevity))
		s.ends(id, []string{"errors", "success"}[i])
	}
}
