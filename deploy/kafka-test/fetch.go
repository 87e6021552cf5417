package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed pom.xml
var pom []byte

// plugin is the pinned version of the Maven plugin that copies the jars.
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// fetch gives the folder with the broker's jars, fetching them on first use.
// The folder is named after the pom, so another version is another folder; it
// appears under its name only when it is complete.
func fetch(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(pom) // never fails
	dir := filepath.Join(cache, "colonnade", fmt.Sprintf("kafka-%08x", hash.Sum32()))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("the jars of Kafka are not fetched yet, and there is no mvn on the path to fetch them")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", err
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "kafka-making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(making) //nolint:errcheck // gone already when all went well
	project := filepath.Join(making, "pom.xml")
	if err := os.WriteFile(project, pom, 0o600); err != nil {
		return "", err
	}
	jars := filepath.Join(making, "jars")
	//nolint:gosec // the mvn that was found, with arguments of ours
	cmd := exec.CommandContext(ctx, maven, "-q", "-B", "-f", project, plugin, "-DincludeScope=runtime", "-DoutputDirectory="+jars)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("fetching the jars of Kafka: %w", err)
	}
	if err := os.Rename(jars, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // another run may have been first
			return "", err
		}
	}
	return dir, nil
}
