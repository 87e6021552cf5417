//go:build embedded

package embedded

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"colonnade/deploy/embedded/internal/chdb"
	"colonnade/deploy/embedded/internal/httpapi"
	"colonnade/deploy/embedded/internal/supervise"
)

// clickHouseConfig is the configuration of the child; its listening socket is descriptor 3, the library descriptor 4.
type clickHouseConfig struct {
	Dir       string   `json:"dir"`
	Library   string   `json:"library"`
	Token     string   `json:"token"`
	Arguments []string `json:"arguments"`
	MergeNice int      `json:"merge_nice"`
}

func startClickHouse(ctx context.Context, s *Stack) error {
	engines, err := s.c.enginesDir()
	if err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("clickhouse: there is no embedded engine for %s/%s; give the address of a server instead", runtime.GOOS, runtime.GOARCH)
	}
	library := filepath.Join(engines, "@chdb", "lib-"+runtime.GOOS+"-"+npmArch()+"-gnu", "libchdb.so")
	if !isFile(library) {
		return fmt.Errorf("clickhouse: the engine %s is not fetched: %s", library, enginesHint)
	}
	dir := filepath.Join(s.c.Dir, ClickHouse)
	token, err := secret(filepath.Join(dir, "token"))
	if err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	addr, file, err := s.listen(ClickHouse, s.c.Ports.ClickHouse)
	if err != nil {
		return err
	}
	// The engine's user may not be able to enter the folder of the library.
	opened, err := os.Open(library) //nolint:gosec // a file of the engine that was found
	if err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	s.mu.Lock()
	s.files = append(s.files, opened)
	s.mu.Unlock()
	memory := s.c.ClickHouseMemoryBytes
	arguments := append([]string{
		// The engine's own defaults are nine tenths of the machine and caches of 5 GB.
		fmt.Sprintf("--max_server_memory_usage=%d", memory),
		fmt.Sprintf("--mark_cache_size=%d", memory/24),
		fmt.Sprintf("--primary_index_cache_size=%d", memory/24),
		fmt.Sprintf("--index_mark_cache_size=%d", memory/24),
		fmt.Sprintf("--text_index_tokens_cache_size=%d", memory/24),
		fmt.Sprintf("--text_index_header_cache_size=%d", memory/24),
		fmt.Sprintf("--text_index_postings_cache_size=%d", memory/12),
		fmt.Sprintf("--vector_similarity_index_cache_size=%d", memory/48),
		fmt.Sprintf("--unique_key_index_cache_size_bytes=%d", memory/48),
		fmt.Sprintf("--parquet_metadata_cache_size=%d", memory/96),
		fmt.Sprintf("--iceberg_metadata_files_cache_size=%d", memory/96),
		fmt.Sprintf("--background_pool_size=%d", s.c.ClickHouseMergeThreads),
		// A merge of gigabytes takes a minute beside inserts: small ones that waited
		// for their turn beside it left hundreds of parts to every read.
		"--background_merges_mutations_scheduling_policy=shortest_task_first",
	}, s.c.ClickHouseArguments...)
	err = s.run(ctx, ClickHouse, clickHouseConfig{Dir: dir, Library: "/proc/self/fd/4", Token: token, Arguments: arguments, MergeNice: s.c.ClickHouseMergeNice}, []*os.File{file, opened})
	if err != nil {
		return err
	}
	s.ClickHouse = (&url.URL{Scheme: "http", User: url.UserPassword("default", token), Host: addr.String(), Path: "/" + httpapi.Database}).String()
	s.ClickHouseMemoryBytes = memory
	s.c.Progress("ClickHouse answers on " + addr.String())
	return nil
}

// runClickHouse is the child: the engine and its HTTP server.
func runClickHouse(ctx context.Context, c clickHouseConfig, ready func(supervise.Ready)) error {
	lock, err := supervise.Lock(ctx, filepath.Join(c.Dir, "clickhouse.lock"), 15*time.Second)
	if err != nil {
		return fmt.Errorf("the ClickHouse directory %s: %w", c.Dir, err)
	}
	defer lock.Close() //nolint:errcheck // the end of the process gives it up as well
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	lib, err := chdb.Load(c.Library)
	if err != nil {
		return err
	}
	d, err := httpapi.Open(lib, filepath.Join(c.Dir, "data"), c.Token, c.Arguments)
	if err != nil {
		return err
	}
	stepping, stop := context.WithCancel(ctx)
	var stepped sync.WaitGroup
	stepped.Go(func() { stepBack(stepping, c.MergeNice) })
	defer stepped.Wait()
	defer stop()
	ready(supervise.Ready{Version: d.Version()})
	return d.Serve(ctx, listener, 10*time.Second)
}
