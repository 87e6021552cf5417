package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/template"
)

// maxIdle is how long a spare waits for a job: a deployment that runs code now
// and then does not keep a process for it.
const maxIdle = time.Minute

// maxStack bounds one goroutine's stack in a child: deep recursion inside the
// engine ends the child long before it costs the machine anything.
const maxStack = 64 << 20

// Child is the other side: it runs a job if the arguments are a child's, and
// says with which status to exit. A main calls it before anything else.
func Child(args []string) (handled bool, exit int) {
	if len(args) == 0 || args[0] != word {
		return false, 0
	}
	if err := serve(args[1:], os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return true, 1
	}
	return true, 0
}

func serve(args []string, in io.Reader, out io.Writer) error {
	if len(args) > 3 && args[0] == kindPython {
		memory, err1 := strconv.ParseInt(args[1], 10, 64)
		cpu, err2 := strconv.ParseInt(args[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("sandbox: reading limits: %w", err)
		}
		return python(args[3:], memory, time.Duration(cpu))
	}
	// The engine's own work is enough for one thread; and libraries that print
	// must not print into the answer.
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(maxStack)
	os.Stdout = os.Stderr

	idle := time.AfterFunc(maxIdle, func() {
		os.Exit(0) //nolint:forbidigo // a spare that nobody needs; it holds nothing
	})
	input, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("sandbox: reading a job: %w", err)
	}
	idle.Stop()
	if len(input) == 0 {
		return nil // the parent went away without needing us
	}
	var j job
	if err := json.Unmarshal(input, &j); err != nil {
		return fmt.Errorf("sandbox: decoding a job: %w", err)
	}
	if err := confine(j.MemoryBytes, j.CPU); err != nil {
		return err
	}
	output, err := json.Marshal(j.perform(input))
	if err != nil {
		return fmt.Errorf("sandbox: encoding an answer: %w", err)
	}
	if _, err := out.Write(output); err != nil {
		return fmt.Errorf("sandbox: writing an answer: %w", err)
	}
	return nil
}

func (j job) perform(input []byte) (a answer) {
	// Engines that panic on what they are fed do so here, in a process that ends anyway.
	defer func() {
		if r := recover(); r != nil {
			a = answer{Error: &failure{Kind: domain.Rejected, Message: j.panicked(r)}}
		}
	}()
	var err error
	switch j.Kind {
	case kindJavaScript:
		a, err = javaScript(j)
	case kindRender:
		a.Texts, err = j.render(input)
	default:
		err = domain.E(domain.Internal, "a job of the kind %q", j.Kind)
	}
	if err != nil {
		message := err.Error()
		if e, ok := errors.AsType[*domain.Error](err); ok {
			message = e.Message
		}
		return answer{Error: &failure{Kind: domain.KindOf(err), Message: message}}
	}
	return a
}

func (j job) panicked(r any) string {
	if err, ok := r.(error); ok {
		return refusal(err, j.CPU).Message
	}
	return "the code failed: " + short(fmt.Sprint(r))
}

// render fills the templates. The variables are read again by the product's
// own reader, which keeps whole numbers whole.
func (j job) render(input []byte) ([]string, error) {
	parsed, err := jsonvalue.Parse(input)
	if err != nil {
		return nil, domain.Wrap(domain.Rejected, err, "the variables are no JSON: %s", err)
	}
	object, _ := parsed.(map[string]any)
	vars, _ := object["vars"].(map[string]any)
	out := make([]string, len(j.Texts))
	for i, text := range j.Texts {
		if out[i], err = template.Render(j.Format, text, vars, j.Limits); err != nil {
			return nil, err
		}
	}
	return out, nil
}
