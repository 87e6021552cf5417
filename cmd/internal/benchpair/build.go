package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build builds the base in a worktree of its own, which it removes at once,
// and the candidate in the current one.
func build(ctx context.Context, o *options, say func(string, ...any)) error {
	if err := os.MkdirAll(o.dir, 0o750); err != nil { //nolint:gosec // the folder that the caller of this tool names
		return err
	}
	if o.baseBinary == "" {
		say("building the base, %s", o.base)
		o.baseBinary = filepath.Join(o.dir, "colonnade-base")
		tree := filepath.Join(o.dir, "base")
		if err := command(ctx, ".", "git", "worktree", "add", "--quiet", "--detach", tree, o.base); err != nil {
			return err
		}
		err := compile(ctx, tree, o.baseBinary)
		if removed := command(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree); err == nil {
			err = removed
		}
		if err != nil {
			return err
		}
	}
	if o.candidateBinary != "" {
		return nil
	}
	say("building the candidate, the working tree")
	o.candidateBinary = filepath.Join(o.dir, "colonnade-candidate")
	return compile(ctx, ".", o.candidateBinary)
}

// compile builds as make build does, so that the two share what is compiled:
// without paths in it, the base compiled once is found again in any folder.
func compile(ctx context.Context, tree, binary string) error {
	return command(ctx, tree, "go", "build", "-tags", "embedded", "-trimpath", "-o", binary, "./cmd/colonnade")
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // git and go, with the operator's commit
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return nil
}
