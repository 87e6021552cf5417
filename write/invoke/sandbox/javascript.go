package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"colonnade/domain"
)

// maxCalls is the depth of JavaScript's calls.
const maxCalls = 2000

// prelude gives code the one thing it expects of a host that does no harm: a
// console, which is silent. Everything else that a program sees is the
// language's own; values go in and out as JSON, so that no object of the host
// is there to be reached.
const prelude = `"use strict"; var console = Object.freeze({log() {}, debug() {}, info() {}, warn() {}, error() {}});`

// calls is compiled before the code runs, and takes what it needs from the
// language before the code can change it. The code's functions are found by
// name through the finder, since a const of the top level is no member of the
// global object.
const calls = `(function (text, find) {
	const parse = JSON.parse, write = JSON.stringify;
	const request = parse(text);
	return function () {
		for (const call of request) {
			const f = find(call.function);
			if (typeof f === "function") { return f(...(call.args || [])); }
		}
		throw new TypeError("the code defines none of the functions " + request.map(c => c.function).join(", "));
	};
})`

// javaScript runs the job's code in a fresh engine.
func javaScript(j job) (answer, error) {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxCalls)
	stop := time.AfterFunc(j.CPU, func() { vm.Interrupt(errSlow) })
	defer stop.Stop()

	request, err := json.Marshal(j.Calls)
	if err != nil {
		return answer{}, fmt.Errorf("sandbox: encoding arguments: %w", err)
	}
	var stringify, call goja.Callable
	function := ""
	prepare := func() error {
		if _, err := vm.RunString(prelude); err != nil {
			return err
		}
		var ok bool
		if stringify, ok = goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify")); !ok {
			return errors.New("sandbox: the engine has no JSON")
		}
		made, err := vm.RunString(calls)
		if err != nil {
			return err
		}
		bind, _ := goja.AssertFunction(made)
		bound, err := bind(goja.Undefined(), vm.ToValue(string(request)), vm.ToValue(func(c goja.FunctionCall) goja.Value {
			function = c.Argument(0).String()
			return find(vm, function)
		}))
		if err != nil {
			return err
		}
		call, _ = goja.AssertFunction(bound)
		return nil
	}
	if err := prepare(); err != nil {
		return answer{}, fmt.Errorf("sandbox: preparing the engine: %w", err)
	}
	if _, err := vm.RunScript("code", j.Source); err != nil {
		return answer{}, refusal(err, j.CPU)
	}
	result, err := call(goja.Undefined())
	if err != nil {
		return answer{}, refusal(err, j.CPU)
	}
	if result, err = resolved(result); err != nil {
		return answer{}, err
	}
	written, err := stringify(goja.Undefined(), result)
	if err != nil {
		return answer{}, refusal(err, j.CPU)
	}
	if goja.IsUndefined(written) {
		return answer{Value: json.RawMessage("null"), Function: function}, nil
	}
	if len(written.String()) > j.Limits.MaxOutputBytes {
		return answer{}, domain.E(domain.TooLarge, "the code's result is longer than %d bytes", j.Limits.MaxOutputBytes)
	}
	return answer{Value: json.RawMessage(written.String()), Function: function}, nil
}

// errSlow interrupts code that ran out of its time.
var errSlow = errors.New("sandbox: out of time")

// find is the value of a name at the top level of the code; undefined where there is none.
func find(vm *goja.Runtime, name string) goja.Value {
	// name is ours, not the code's.
	v, err := vm.RunString("typeof " + name + " === 'undefined' ? undefined : " + name)
	if err != nil {
		return goja.Undefined()
	}
	return v
}

// resolved returns the value of a promise. There are no timers, so that a promise
// that is still pending now stays pending.
func resolved(v goja.Value) (goja.Value, error) {
	p, ok := v.Export().(*goja.Promise)
	if !ok {
		return v, nil
	}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return p.Result(), nil
	case goja.PromiseStateRejected:
		return nil, domain.E(domain.Rejected, "the code failed: %s", short(p.Result().String()))
	default:
		return nil, domain.E(domain.Rejected, "the code waits for something that never happens: there are no timers and no network")
	}
}

// refusal is an engine's error in words for the code's author.
func refusal(err error, cpu time.Duration) *domain.Error {
	if _, ok := errors.AsType[*goja.InterruptedError](err); ok {
		return domain.E(domain.Rejected, "the code ran longer than %s", cpu)
	}
	if _, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		return domain.E(domain.Rejected, "the code recursed too deeply")
	}
	return domain.E(domain.Rejected, "the code failed: %s", short(err.Error()))
}

// maxWords bounds an error's text, which code can make as long as it likes.
const maxWords = 2000

func short(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxWords {
		return strings.ToValidUTF8(s[:maxWords], "") + "..."
	}
	return s
}
