package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/invoke/sandbox"
	"colonnade/write/invoke/template"
)

func TestMain(m *testing.M) {
	if handled, exit := sandbox.Child(os.Args[1:]); handled {
		os.Exit(exit)
	}
	if len(os.Args) == 2 && os.Args[1] == "confined" {
		tryEscapes()
		return
	}
	os.Exit(m.Run())
}

// tryEscapes goes, from within a confined process and with all that Go can do,
// for what code must not have: the kernel refuses each, should the engine
// ever not.
func tryEscapes() {
	escapes := map[string]string{}
	try := func(name string, err error) {
		escapes[name] = "open"
		if err != nil {
			escapes[name] = "closed"
		}
	}
	executable, _ := os.Executable()
	scratch := os.Args[0] + ".scratch"
	err := sandbox.Confine(64<<20, time.Minute)
	if err != nil {
		escapes["confine"] = err.Error()
	}
	_, err = os.ReadFile("/etc/passwd")
	try("read a file", err)
	err = os.WriteFile(scratch, []byte("x"), 0o600)
	try("write a file", err)
	_, err = (&net.Dialer{Timeout: time.Second}).Dial("tcp", "127.0.0.1:1")
	try("dial", err)
	escapes["dial says"] = strconv.FormatBool(errors.Is(err, syscall.EMFILE))
	_, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	try("listen", err)
	try("start a process", exec.CommandContext(context.Background(), executable, "-test.run=^$").Run())
	_, err = syscall.Mmap(-1, 0, 256<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	try("map 256 MiB", err)
	_ = json.NewEncoder(os.Stdout).Encode(escapes)
}

func TestConfine(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), executable, "confined")
	cmd.Env = []string{}
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var escapes map[string]string
	require.NoError(t, json.Unmarshal(out, &escapes), string(out))
	require.Empty(t, cmp.Diff(map[string]string{
		"read a file": "closed", "write a file": "closed", "dial": "closed", "dial says": "true", "listen": "closed",
		"start a process": "closed", "map 256 MiB": "closed",
	}, escapes))
}

func open(t testing.TB, change func(*sandbox.Config)) *sandbox.Sandbox {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	// A busy machine is slow; the limits that tests of limits wait for are their own.
	cfg.Timeout, cfg.CPU = 2*time.Minute, time.Minute
	if change != nil {
		change(&cfg)
	}
	s, err := sandbox.New(cfg, deps())
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func deps() sandbox.Deps {
	return sandbox.Deps{Now: time.Now, Registerer: prometheus.NewRegistry()}
}

// evaluate is a judgment's call, main an application's.
func code(runtime, source string, args ...any) sandbox.Code {
	return sandbox.Code{Runtime: runtime, Source: source, Calls: []sandbox.Call{{Function: "evaluate", Args: args}, {Function: "main", Args: args}}}
}

func TestJavaScript(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, tt := range []struct {
		name   string
		source string
		args   []any
		want   any
	}{
		{"a number", `function evaluate() { return 0.5 }`, nil, 0.5},
		{"arguments", `function evaluate(inputs, outputs) { return inputs.a + outputs }`, []any{map[string]any{"a": "x"}, "y"}, "xy"},
		{"a function of the second name", `const main = (inputs) => ({...inputs, b: [true, null]})`, []any{map[string]any{"a": int64(1)}}, map[string]any{"a": int64(1), "b": []any{true, nil}}},
		{"a promise", `async function main(x) { return await Promise.resolve(x * 2) }`, []any{21}, int64(42)},
		{"nothing", `function main() {}`, nil, nil},
		{"a console that is silent", `function main() { console.log("x"); return 1 }`, nil, int64(1)},
		{"a class of its own", `class A { #x = 1; get x() { return this.#x } }; function main() { return new A().x ?? 2 }`, nil, int64(1)},
		{"JSON that the code replaced", `JSON.stringify = () => "no"; JSON.parse = null; function main(x) { return x }`, []any{"yes"}, "yes"},
		{"text beyond ASCII", `function main(x) { return x + "\u00e9" }`, []any{"日本\u2028"}, "日本\u2028é"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.Run(t.Context(), code("javascript", tt.source, tt.args...))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, got.Value))
		})
	}
}

// TestEscapes tries to leave the sandbox, to fill the machine and to run for
// ever. Each attempt ends with a sentence for its author, and the sandbox goes on.
func TestEscapes(t *testing.T) {
	t.Parallel()
	// What runs for ever gets a second; what fills the memory gets as long as a
	// busy machine may need until the memory is what stops it.
	limits := func(cpu time.Duration) func(*sandbox.Config) {
		return func(c *sandbox.Config) {
			c.CPU, c.Timeout, c.MemoryBytes, c.MaxOutputBytes, c.Concurrency = cpu, 2*time.Minute, 64<<20, 1<<20, 1
		}
	}
	brief, patient := open(t, limits(time.Second)), open(t, limits(time.Minute))
	const slow, memory, deep = "longer than|processor time", "more than 64 MiB of memory", "recursed too deeply"
	for _, tt := range []struct{ name, source, want string }{
		{"infinite loop", `for (;;) {}`, slow},
		{"infinite loop in the function", `function main() { while (true) {} }`, slow},
		{"infinite loop in a promise", `async function main() { for (;;) { await 1 } }`, slow},
		{"infinite loop in a getter of the result", `function main() { return { get x() { for (;;) {} } } }`, slow},
		{"infinite loop that catches", `function main() { for (;;) { try { for (;;) {} } catch (e) {} finally { continue } } }`, slow},
		{"catastrophic pattern", `function main() { return /(x+x+)+y\1/.test("x".repeat(50)) }`, slow},
		{"array that doubles", `let a = [1]; function main() { for (;;) { a = a.concat(a) } }`, memory},
		{"array that is pushed to", `function main() { const a = []; for (;;) { a.push(new Array(1000).fill(1.5)) } }`, memory},
		{"string that doubles", `let s = "x"; function main() { for (;;) { s += s } }`, memory + "|failed"},
		{"string that repeats", `function main() { return "x".repeat(2 ** 30) }`, memory + "|failed"},
		{"typed array", `function main() { return new Uint8Array(2 ** 31 - 1).length }`, memory + "|failed"},
		{"padded string", `function main() { return "x".padEnd(2 ** 29).length }`, memory + "|failed"},
		{"source that nests", `function main() { return ` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + ` }`, deep + "|failed|" + memory},
		{"deep recursion", `function main() { return main() + 1 }`, deep + "|failed"},
		{"deep recursion through natives", `function main() { let a = []; for (let i = 0; i < 5e6; i++) a = [a]; return JSON.stringify(a).length }`, deep + "|" + memory + "|failed"},
		{"deep recursion through toString", `function main() { const a = {toString() { return "" + a }}; return "" + a }`, deep + "|failed"},
		{"result too long", `function main() { return "x".repeat(2 << 20) }`, "longer than 1048576 bytes"},
		{"require", `const fs = require("fs"); function main() { return fs.readFileSync("/etc/passwd") }`, "require is not defined"},
		{"import", `import fs from "fs"; function main() {}`, "failed"},
		{"dynamic import", `function main() { return import("fs") }`, "failed"},
		{"process", `function main() { return process.env }`, "process is not defined"},
		{"network", `function main() { return fetch("http://127.0.0.1") }`, "fetch is not defined"},
		{"timers", `function main() { return new Promise(r => setTimeout(r, 1e9)) }`, "setTimeout is not defined"},
		{"a promise that stays pending", `function main() { return new Promise(() => {}) }`, "never happens"},
		{"an exception", `function main() { throw new Error("mine") }`, "Error: mine"},
		{"an exception that is no error", `throw {toString() { throw 1 }}`, "failed"},
		{"an exception as long as it likes", `function main() { throw new Error("x".repeat(1 << 20)) }`, "failed"},
		{"a rejected promise", `async function main() { throw new Error("late") }`, "late"},
		{"no function", `var main = 1`, "defines none of the functions evaluate, main"},
		{"no JavaScript", `function (`, "SyntaxError"},
		{"a cycle", `function main() { const a = {}; a.a = a; return a }`, "failed"},
		{"a BigInt", `function main() { return 1n }`, "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := patient
			if tt.want == slow {
				s = brief
			}
			_, err := s.Run(t.Context(), code("javascript", tt.source))
			require.Error(t, err)
			require.Regexp(t, tt.want, err.Error())
			require.Contains(t, []domain.Kind{domain.Rejected, domain.TooLarge}, domain.KindOf(err), "%v", err)
			require.Less(t, len(err.Error()), 4000)
		})
	}
	t.Cleanup(func() {
		got, err := open(t, nil).Run(context.Background(), code("javascript", `function main() { return "still here" }`))
		require.NoError(t, err)
		require.Equal(t, "still here", got.Value)
		require.Equal(t, "main", got.Function)
	})
}

// TestPrototypes goes for the host's objects: there are none, and what one run
// does to the language another does not see.
func TestPrototypes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	got, err := s.Run(t.Context(), code("javascript", `
		Object.prototype.polluted = "yes"; Array.prototype.map = null; Function.prototype.call = null;
		function main(x) {
			const outside = this.constructor.constructor("return Object.getOwnPropertyNames(this).filter(n => /^(go|host|process|require|module|__)/.test(n))")();
			const reach = [x.constructor.constructor, (() => {}).constructor, (async () => {}).constructor, Reflect, Proxy].length;
			return {outside, reach, caller: typeof arguments.callee.caller};
		}`, map[string]any{"a": "b"}))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(map[string]any{"outside": []any{}, "reach": int64(5), "caller": "undefined"}, got.Value))

	got, err = s.Run(t.Context(), code("javascript", `function main() { return typeof ({}).polluted + typeof [].map }`))
	require.NoError(t, err)
	require.Equal(t, "undefinedfunction", got.Value)
}

// TestGlobals names everything that code sees: the language and a silent
// console. A new name here lets code reach more, which is a decision.
func TestGlobals(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	got, err := s.Run(t.Context(), code("javascript", `
		const names = Object.getOwnPropertyNames(globalThis).sort();
		function main() { return names.filter(n => !/^(Agg|Array|Async|Big|Bool|Data|Date|Error|Eval|Float|Function|Int|Iter|JSON|Map|Math|Number|Object|Promise|Proxy|Range|Ref|Reg|Set|String|Symbol|Syntax|Type|Uint|URI|Weak|NaN|Infinity|undefined|globalThis|eval|is|parse|decode|encode|escape|unescape)/.test(n)) }`))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]any{"console", "main"}, got.Value))
}

func TestRenderStops(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *sandbox.Config) {
		c.CPU, c.Timeout, c.MemoryBytes, c.MaxOutputBytes, c.Concurrency = time.Second, time.Minute, 64<<20, 1<<20, 2
	})
	list := make([]any, 100)
	for i := range list {
		list[i] = int64(i)
	}
	vars := map[string]any{"list": list}
	nested := strings.Repeat("{{#list}}", 8) + strings.Repeat("{{/list}}", 8)
	for _, tt := range []struct {
		name   string
		format template.Format
		in     string
		want   string
	}{
		{"jinja2 nested loops", template.Jinja2, strings.Repeat("{% for a in range(1000000) %}", 5) + strings.Repeat("{% endfor %}", 5), "processor time|longer than|of memory"},
		{"jinja2 output", template.Jinja2, "{% for a in range(100000000) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}", "more than 1048576 bytes|of memory|processor time"},
		{"jinja2 text that repeats", template.Jinja2, "{{ 'x' * 2000000000 }}", "memory|more than|processor time"},
		{"jinja2 recursion", template.Jinja2, "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeply|template error|memory|processor time"},
		{"mustache nested loops", template.Mustache, nested, "processor time|longer than"},
		{"mustache output", template.Mustache, strings.ReplaceAll(nested, "{{#list}}{{/list}}", "{{#list}}{{list}}{{/list}}"), "more than|processor time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Render(t.Context(), tt.format, []string{tt.in}, vars)
			require.Error(t, err)
			require.Regexp(t, tt.want, err.Error())
		})
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	vars := map[string]any{"list": []any{int64(1), 1.5, "x"}, "name": "n"}
	for _, tt := range []struct {
		format template.Format
		in     []string
		want   []string
	}{
		{template.Curly, []string{"{{name}}", "{{$.list[0]}}"}, []string{"n", "1"}},
		{template.Mustache, []string{"{{#list}}<{{.}}>{{/list}}", "{{name}}"}, []string{"<1><1.5><x>", "n"}},
		{template.Jinja2, []string{"{% for x in list %}{{ x }},{% endfor %}{{ $.list }}"}, []string{`1,1.5,x,[1,1.5,"x"]`}},
	} {
		got, err := s.Render(t.Context(), tt.format, tt.in, vars)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	_, err := s.Render(t.Context(), template.Jinja2, []string{"{% if %}"}, vars)
	require.ErrorContains(t, err, "Jinja2 template error")
	require.Equal(t, domain.Rejected, domain.KindOf(err))
}

func TestPythonNeedsAnInterpreter(t *testing.T) {
	t.Parallel()
	_, err := open(t, nil).Run(t.Context(), code("python", "def main(): return 1"))
	require.ErrorContains(t, err, "no interpreter is configured")
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	_, err = open(t, nil).Run(t.Context(), code("ruby", ""))
	require.ErrorContains(t, err, `does not run "ruby"`)
}

func interpreter(t *testing.T) []string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(name); err == nil {
			return []string{name}
		}
	}
	name, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	name, err = filepath.EvalSymlinks(name)
	require.NoError(t, err)
	return []string{name}
}

// TestPython runs where the machine has an interpreter; what is refused
// without one is TestPythonNeedsAnInterpreter's.
func TestPython(t *testing.T) {
	t.Parallel()
	command := interpreter(t)
	s := open(t, func(c *sandbox.Config) {
		c.Python, c.CPU, c.MemoryBytes, c.MaxOutputBytes, c.Concurrency = command, time.Second, 64<<20, 1<<20, 2
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	target := filepath.Join(t.TempDir(), "written")
	for _, tt := range []struct {
		name, source string
		want         any
		refused      string
	}{
		{name: "arguments", source: "def evaluate(inputs, outputs):\n    print('noise')\n    return {'x': inputs['a'], 'y': [outputs, None, True]}", want: map[string]any{"x": int64(1), "y": []any{"o", nil, true}}},
		{name: "an empty environment", source: "import os\ndef main(*a): return [k for k in os.environ if not k.startswith('LC_')]", want: []any{}},
		{name: "an exception", source: "def main(*a): raise ValueError('mine')", refused: "ValueError: mine"},
		{name: "no function", source: "x = 1", refused: "defines none of the functions"},
		{name: "no Python", source: "def (", refused: "SyntaxError"},
		{name: "infinite loop", source: "def main(*a):\n    while True: pass", refused: "processor time"},
		{name: "memory", source: "def main(*a):\n    x = 'x'\n    while True: x += x", refused: "of memory"},
		{name: "a file", source: "def main(*a): f = open('" + target + "', 'w'); f.write('x'); f.close(); return 1", refused: "failed|ended its process"},
		{name: "a result too long", source: "def main(*a): return 'x' * (4 << 20)", refused: "longer than"},
		{name: "an exit", source: "import os\ndef main(*a): os._exit(0)", refused: "without a result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if command == nil {
				return // nothing to configure on this machine
			}
			got, err := s.Run(t.Context(), code("python", tt.source, map[string]any{"a": int64(1)}, "o"))
			if tt.refused != "" {
				require.Error(t, err)
				require.Regexp(t, tt.refused, err.Error())
				return
			}
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, got.Value))
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *sandbox.Config) { c.Concurrency = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx, code("javascript", "for (;;) {}"))
		ended <- err
	}()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	// The place is free again.
	_, err := s.Run(t.Context(), code("javascript", "function main() {}"))
	require.NoError(t, err)
}

func TestNoFreePlace(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *sandbox.Config) { c.Concurrency, c.Timeout = 1, 3*time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := s.Run(ctx, code("javascript", "for (;;) {}"))
			ended <- err
		}()
	}
	// One runs until its time is up, the other waits as long and may then still find the place.
	require.Error(t, <-ended)
	cancel()
	require.Error(t, <-ended)
}

// Endless code of one project does not keep the code of another one waiting.
func TestOneProjectDoesNotHoldAllChildren(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *sandbox.Config) { c.Concurrency = 2 })
	as := func(project byte) context.Context {
		return domain.WithPrincipal(t.Context(), domain.Principal{Project: domain.ProjectID{project}})
	}
	hostile, cancel := context.WithCancel(as(1))
	const callers = 16
	ended := make(chan error, callers)
	for range callers {
		go func() {
			_, err := s.Run(hostile, code("javascript", "for (;;) {}"))
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return s.Slots().Stats().Waiting == callers-1 }, time.Minute, time.Millisecond)
	_, err := s.Run(as(2), code("javascript", "function main() {}"))
	require.NoError(t, err)
	require.Empty(t, ended, "the endless code still runs and waits")
	cancel()
	for range callers {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}

func TestTooLargeInput(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *sandbox.Config) { c.MaxInputBytes = 1 << 10 })
	_, err := s.Run(t.Context(), code("javascript", strings.Repeat(" ", 2000)))
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, err := s.Run(t.Context(), code("javascript", "function main() {}"))
	require.NoError(t, err)
	s.Close()
	_, err = s.Run(t.Context(), code("javascript", "function main() {}"))
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	d := deps()
	s, err := sandbox.New(sandbox.DefaultConfig(), d)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	_, err = s.Run(t.Context(), code("javascript", "throw 1"))
	require.Error(t, err)
	registry, _ := d.Registerer.(*prometheus.Registry)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP colonnade_sandbox_runs_in_progress Executions in progress.
# TYPE colonnade_sandbox_runs_in_progress gauge
colonnade_sandbox_runs_in_progress 0
# HELP colonnade_sandbox_runs_total Sandboxed executions of code and of templates with loops, by kind and outcome.
# TYPE colonnade_sandbox_runs_total counter
colonnade_sandbox_runs_total{kind="javascript",outcome="rejected"} 1
`), "colonnade_sandbox_runs_in_progress", "colonnade_sandbox_runs_total"))
	_, err = sandbox.New(sandbox.DefaultConfig(), d)
	require.Error(t, err)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	require.NoError(t, sandbox.DefaultConfig().Validate())
	require.ErrorContains(t, sandbox.Config{}.Validate(), "memory_bytes")
	_, err := sandbox.New(sandbox.Config{}, deps())
	require.ErrorContains(t, err, "concurrency")
}

func BenchmarkRun(b *testing.B) {
	s := open(b, nil)
	c := code("javascript", "function main(x) { return x * 2 }", 21)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
