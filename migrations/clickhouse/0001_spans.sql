-- The core row of a span: light enough that a page of any view is one short
-- ordered read. Text and documents are in span_payloads under the same key.
--
-- week is the partition: the Monday of start_time, or 1970-01-01 when
-- start_time is implausible beside the time of receipt (clients' clocks lie,
-- and a partition for each lie would stop all inserts). ClickHouse does not
-- derive a bound on week from one on start_time: every query sends both.
--
-- version = stream offset << 20 | index within the record: later writes of a
-- span are greater, and (stream_partition, version) tells which rows a range of
-- the stream made. NaN in a metric means "absent".
--
-- trace_type is the type of the whole trace and may change when later spans
-- decide it: readers show it in place of what attributes says under
-- ag.type.trace. trace_type_declared is what this span itself declared.
--
-- hash_id = the id of the span's hash (contract §1.8; there is one at most), zero
-- without one: reading it back from kv would read all tokens.
--
-- merge_selector_base is above the default 5: a row is merged fewer times (the
-- index on kv is rebuilt in each merge), for a few parts more.
--
-- payload_bytes = the length of this span's text in span_payloads: a page is cut
-- by it before documents of megabytes are fetched.
CREATE TABLE IF NOT EXISTS {{table "spans"}}{{on_cluster}}
(
    project_id              UUID,
    trace_type              Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time              DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie                     UInt64 CODEC(NONE),
    week                    Date CODEC(ZSTD(1)),
    trace_id                FixedString(16) CODEC(ZSTD(1)),
    span_id                 FixedString(8) CODEC(NONE),
    parent_id               FixedString(8) CODEC(ZSTD(1)),
    start_ns                UInt16 CODEC(ZSTD(1)),
    end_time                DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    end_ns                  UInt16 CODEC(ZSTD(1)),
    version                 UInt64 CODEC(Delta, ZSTD(1)),
    stream_partition        UInt32 CODEC(ZSTD(1)),
    content_hash            UInt64 CODEC(NONE),
    created_at              DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at              DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id           UUID CODEC(ZSTD(1)),
    updated_by_id           UUID CODEC(ZSTD(1)),
    span_type               Enum8('task' = 1, 'workflow' = 2, 'agent' = 3, 'chain' = 4, 'tool' = 5, 'llm' = 6, 'chat' = 7, 'completion' = 8, 'embedding' = 9, 'query' = 10, 'rerank' = 11, 'unknown' = 12),
    span_type_declared      Bool,
    trace_type_declared     Enum8('none' = 0, 'invocation' = 1, 'annotation' = 2),
    span_kind               Enum8('SPAN_KIND_UNSPECIFIED' = 0, 'SPAN_KIND_INTERNAL' = 1, 'SPAN_KIND_SERVER' = 2, 'SPAN_KIND_CLIENT' = 3, 'SPAN_KIND_PRODUCER' = 4, 'SPAN_KIND_CONSUMER' = 5),
    status_code             Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    span_name               String CODEC(ZSTD(1)),
    status_message          String CODEC(ZSTD(1)),
    session_id              String CODEC(ZSTD(1)),
    user_id                 String CODEC(ZSTD(1)),
    agent_id                String CODEC(ZSTD(1)),
    duration_ms             Float64 CODEC(ZSTD(1)),
    errors                  Float64 CODEC(ZSTD(1)),
    tokens_prompt           Float64 CODEC(ZSTD(1)),
    tokens_completion       Float64 CODEC(ZSTD(1)),
    tokens_total            Float64 CODEC(ZSTD(1)),
    costs_prompt            Float64 CODEC(ZSTD(1)),
    costs_completion        Float64 CODEC(ZSTD(1)),
    costs_total             Float64 CODEC(ZSTD(1)),
    service                 LowCardinality(String),
    model                   LowCardinality(String),
    provider                LowCardinality(String),
    application_id          UUID CODEC(ZSTD(1)),
    application_slug        LowCardinality(String),
    application_variant_id  UUID CODEC(ZSTD(1)),
    application_revision_id UUID CODEC(ZSTD(1)),
    evaluator_id            UUID CODEC(ZSTD(1)),
    evaluator_slug          LowCardinality(String),
    evaluator_revision_id   UUID CODEC(ZSTD(1)),
    testset_revision_id     UUID CODEC(ZSTD(1)),
    testcase_id             UUID CODEC(ZSTD(1)),
    environment_slug        LowCardinality(String),
    link_count              UInt16 CODEC(ZSTD(1)),
    link_trace_id           FixedString(16) CODEC(ZSTD(1)),
    link_span_id            FixedString(8) CODEC(ZSTD(1)),
    link_trace_ids          Array(FixedString(16)) CODEC(ZSTD(1)),
    link_span_ids           Array(FixedString(8)) CODEC(ZSTD(1)),
    event_names             Array(LowCardinality(String)),
    hash_id                 UUID CODEC(ZSTD(1)),
    str                     Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    num                     Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    bool                    Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    long                    Array(LowCardinality(String)),
    kv                      Array(String) CODEC(ZSTD(1)),
    payload_bytes           UInt32 CODEC(ZSTD(1)),
    INDEX span_id_index span_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX version_index version TYPE minmax GRANULARITY 1,
    INDEX kv_index kv TYPE text(tokenizer = 'array')
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS merge_selector_base = 8, {{settings}};
{{distributed "spans" "cityHash64(trace_id)"}}

-- What a page needs only for the rows it shows. Small granules: one row of a
-- page costs one granule. Those of 64 rows take 5 % more disk than those of 512,
-- and a page of scattered rows two thirds of the time.
CREATE TABLE IF NOT EXISTS {{table "span_payloads"}}{{on_cluster}}
(
    project_id  UUID,
    trace_type  Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time  DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    tie         UInt64 CODEC(NONE),
    week        Date CODEC(ZSTD(1)),
    trace_id    FixedString(16) CODEC(ZSTD(1)),
    span_id     FixedString(8) CODEC(NONE),
    version     UInt64 CODEC(Delta, ZSTD(1)),
    inputs      String CODEC(ZSTD(1)),
    outputs     String CODEC(ZSTD(1)),
    parameters  String CODEC(ZSTD(1)),
    internals   String CODEC(ZSTD(1)),
    attributes  String CODEC(ZSTD(1)),
    events      String CODEC(ZSTD(1)),
    links       String CODEC(ZSTD(1)),
    resource    String CODEC(ZSTD(1)),
    scope       String CODEC(ZSTD(1))
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
PARTITION BY week
ORDER BY (project_id, trace_type, start_time, tie)
SETTINGS index_granularity = 64, index_granularity_bytes = 131072, merge_selector_base = 10, {{settings}};
{{distributed "span_payloads" "cityHash64(trace_id)"}}

-- Where a trace is: only aggregates that duplicates, reordering and late spans
-- cannot harm.
CREATE TABLE IF NOT EXISTS {{table "trace_index"}}{{on_cluster}}
(
    project_id    UUID,
    trace_id      FixedString(16),
    min_start     SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    max_start     SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    max_end       SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    min_week      SimpleAggregateFunction(min, Date),
    max_week      SimpleAggregateFunction(max, Date),
    is_annotation SimpleAggregateFunction(max, UInt8),
    declared_type SimpleAggregateFunction(max, UInt8),
    has_error     SimpleAggregateFunction(max, UInt8),
    root_span_id  SimpleAggregateFunction(max, FixedString(8)),
    created_at    SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    last_version  SimpleAggregateFunction(max, UInt64),
    stream_partition SimpleAggregateFunction(max, UInt32),
    touched_at    SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    INDEX touched_index touched_at TYPE minmax GRANULARITY 1
)
ENGINE = {{engine "AggregatingMergeTree"}}
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, {{settings}};
{{distributed "trace_index" "cityHash64(trace_id)"}}

-- Totals of a settled trace, recomputed from spans, never counted up.
CREATE TABLE IF NOT EXISTS {{table "trace_rollup"}}{{on_cluster}}
(
    project_id        UUID,
    trace_id          FixedString(16),
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    start_time        DateTime64(6, 'UTC'),
    end_time          DateTime64(6, 'UTC'),
    root_span_id      FixedString(8),
    root_name         String,
    spans             UInt32,
    errors            Float64,
    tokens_prompt     Float64,
    tokens_completion Float64,
    tokens_total      Float64,
    costs_prompt      Float64,
    costs_completion  Float64,
    costs_total       Float64,
    version           UInt64,
    settled_at        DateTime64(6, 'UTC'),
    INDEX start_index start_time TYPE minmax GRANULARITY 1
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
ORDER BY (project_id, trace_id)
SETTINGS index_granularity = 1024, {{settings}};
{{distributed "trace_rollup" "cityHash64(trace_id)"}}

-- Paths seen in attributes, for autocomplete and type resolution.
CREATE TABLE IF NOT EXISTS {{table "attribute_keys"}}{{on_cluster}}
(
    project_id UUID,
    path       String,
    type       Enum8('string' = 1, 'number' = 2, 'bool' = 3, 'long' = 4),
    sample     String,
    seen_at    DateTime64(6, 'UTC')
)
ENGINE = {{engine "ReplacingMergeTree" "seen_at"}}
ORDER BY (project_id, path, type)
SETTINGS {{settings}};
{{distributed "attribute_keys" "cityHash64(project_id, path)"}}

-- What was refused and why. raw is bounded; the whole record is in the dead topic.
CREATE TABLE IF NOT EXISTS {{table "rejects"}}{{on_cluster}}
(
    project_id       UUID,
    rejected_at      DateTime64(6, 'UTC'),
    source           LowCardinality(String),
    stage            LowCardinality(String),
    reason           String,
    trace_id         String,
    span_id          String,
    span_name        String,
    stream_partition UInt32,
    stream_offset    UInt64,
    raw              String CODEC(ZSTD(3))
)
ENGINE = {{engine "MergeTree"}}
PARTITION BY toMonday(rejected_at)
ORDER BY (project_id, rejected_at)
SETTINGS {{settings}};
{{distributed "rejects" "rand()"}}

-- How far the sink is: a row for each batch that became visible. A read that
-- carries a token waits for next_offset to pass it. Traces touched before
-- settled_until are settled.
CREATE TABLE IF NOT EXISTS {{table "sink_progress"}}{{on_cluster}}
(
    topic            LowCardinality(String),
    stream_partition UInt32,
    next_offset      UInt64,
    settled_until    DateTime64(6, 'UTC'),
    written_at       DateTime64(6, 'UTC')
)
ENGINE = {{engine "ReplacingMergeTree" "next_offset"}}
ORDER BY (topic, stream_partition)
SETTINGS {{settings}};
{{distributed "sink_progress" "cityHash64(topic, stream_partition)"}}
