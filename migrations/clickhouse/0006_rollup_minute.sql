-- What the roots of traces that start in a minute measure, so that statistics
-- over days read minutes in place of spans. A row for each minute and type that
-- ever held a span; it replaces the one before it whole.
--
-- The values themselves are kept, not sums: every statistic made of them equals
-- that made of the spans. Each is what readers see in ag.metrics.<path> of a
-- root; absent values are absent. span_types counts the declared ones.
--
-- version v, in microseconds, says: all that was touched (trace_index.touched_at)
-- before v is in here. The row of the zero project says so of all minutes at
-- once, those without rows too. A minute serves readers unless a trace that
-- reaches into it was touched at or after that; unless its last row is stale
-- (spans were removed); and unless undecided counts a root whose row in spans
-- does not tell what readers see.
CREATE TABLE IF NOT EXISTS {{table "rollup_minute"}}{{on_cluster}}
(
    project_id        UUID,
    minute            DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    version           UInt64 CODEC(Delta, ZSTD(1)),
    stale             Bool,
    undecided         UInt64 CODEC(ZSTD(1)),
    roots             UInt64 CODEC(ZSTD(1)),
    duration          Array(Float64) CODEC(ZSTD(1)),
    errors            Array(Float64) CODEC(ZSTD(1)),
    tokens_prompt     Array(Float64) CODEC(ZSTD(1)),
    tokens_completion Array(Float64) CODEC(ZSTD(1)),
    tokens_total      Array(Float64) CODEC(ZSTD(1)),
    costs_prompt      Array(Float64) CODEC(ZSTD(1)),
    costs_completion  Array(Float64) CODEC(ZSTD(1)),
    costs_total       Array(Float64) CODEC(ZSTD(1)),
    span_types        Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),
    INDEX version_index version TYPE minmax GRANULARITY 1
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
ORDER BY (project_id, minute, trace_type)
SETTINGS index_granularity = 1024, {{settings}};
{{distributed "rollup_minute" "cityHash64(project_id)"}}
