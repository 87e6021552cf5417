// Command kafka-test runs a command against a real Apache Kafka: one KRaft
// node on free loopback ports, with an empty log that is thrown away after.
//
//	go run ./deploy/kafka-test -- go test -tags embedded ./write/stream/...
//
// The command finds the broker in COLONNADE_TEST_KAFKA_BROKERS, and in the file that
// COLONNADE_TEST_KAFKA_PID_FILE names its process, which it may kill: the node is
// started again on the same address and data. The jars are
// fetched once, by Maven, into the user's cache folder; Java 17 or later must
// be there. It is a tool of tests: nothing of the product calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const (
	envBrokers = "COLONNADE_TEST_KAFKA_BROKERS"
	envPIDFile = "COLONNADE_TEST_KAFKA_PID_FILE"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafka-test:", err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:forbidigo // this is main
}

// run starts the broker, runs the command and gives its exit code.
func run(ctx context.Context, args []string) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("usage: kafka-test -- command [argument...]")
	}
	broker, err := startBroker(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, broker.stop()) }()
	//nolint:gosec // running the given command is the purpose
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.Env = append(os.Environ(), envBrokers+"="+broker.address, envPIDFile+"="+broker.pidFile())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode(), nil
	}
	return 0, err
}
