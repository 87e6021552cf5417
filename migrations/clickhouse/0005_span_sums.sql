-- What the spans of settled traces sum over all below them (contract §1.6), in
-- the order of spans and under the same key: a filter on a cumulative metric
-- reads the stretch here that it reads there. A span of which no row is here
-- sums what is its own; 0 is "nothing to sum".
--
-- Which rows hold: those of traces that nothing was written to since they were
-- settled. Spans from before this table may have none; their created_at is below
-- the applied_at of this file.
CREATE TABLE IF NOT EXISTS {{table "span_sums"}}{{on_cluster}}
(
    project_id        UUID,
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time        DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie               UInt64 CODEC(NONE),
    week              Date CODEC(ZSTD(1)),
    trace_id          FixedString(16) CODEC(NONE),
    span_id           FixedString(8) CODEC(NONE),
    version           UInt64 CODEC(Delta, ZSTD(1)),
    errors            Float64 CODEC(ZSTD(1)),
    tokens_prompt     Float64 CODEC(ZSTD(1)),
    tokens_completion Float64 CODEC(ZSTD(1)),
    tokens_total      Float64 CODEC(ZSTD(1)),
    costs_prompt      Float64 CODEC(ZSTD(1)),
    costs_completion  Float64 CODEC(ZSTD(1)),
    costs_total       Float64 CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS index_granularity = 1024, merge_selector_base = 8, {{settings}};
{{distributed "span_sums" "cityHash64(trace_id)"}}
