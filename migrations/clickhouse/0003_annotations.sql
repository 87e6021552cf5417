-- What was said about spans, in the two orders that it is asked for. A span has
-- rows here when it links to other spans, or when it is a root that declares
-- itself an annotation (one about nothing in particular). trace_type is that of
-- its whole trace, as in spans, and follows it: readers of annotations ask for
-- 'annotation'.
--
-- Rows are copies made to be read in one piece; spans and span_payloads hold the
-- same, and (start_time, tie, version) leads there. whole tells that outputs and
-- the three maps made of it are here; where it is false (a large output, a span
-- with many links) outputs is empty and the maps may be.
--
-- Keys of references are made by migrations/schema (EvaluatorKey, RevisionKey).
--
-- There are no partitions by time: rows are looked for by what they are about,
-- whenever they came, and each partition would be one more place to look.
--
-- Here: all that was said about one trace after the other, by evaluator. A row
-- for each link, counted by link_number; zero ids where there is none.
CREATE TABLE IF NOT EXISTS {{table "annotations"}}{{on_cluster}}
(
    project_id           UUID,
    link_trace_id        FixedString(16) CODEC(ZSTD(1)),
    evaluator_key        LowCardinality(String),
    start_time           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    tie                  UInt64 CODEC(NONE),
    link_span_id         FixedString(8) CODEC(ZSTD(1)),
    link_number          UInt16 CODEC(ZSTD(1)),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    trace_id             FixedString(16) CODEC(NONE),
    span_id              FixedString(8) CODEC(NONE),
    version              UInt64 CODEC(Delta, ZSTD(1)),
    created_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id        UUID CODEC(ZSTD(1)),
    status_code          Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3),
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3),
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4),
    evaluator_id         UUID CODEC(ZSTD(1)),
    evaluator_slug       LowCardinality(String),
    evaluator_revision   LowCardinality(String),
    application_id       UUID CODEC(ZSTD(1)),
    application_slug     LowCardinality(String),
    application_revision LowCardinality(String),
    testset_revision     LowCardinality(String),
    testcase             String CODEC(ZSTD(1)),
    numbers              Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    strings              Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    bools                Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    outputs              String CODEC(ZSTD(1)),
    whole                Bool,
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
ORDER BY (project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id)
SETTINGS index_granularity = 1024, {{settings}};
{{distributed "annotations" "cityHash64(trace_id)"}}

-- Here: all results of one evaluator, by what it judged. A row for each span
-- that names an evaluator; link_trace_id and link_span_id are its first link.
CREATE TABLE IF NOT EXISTS {{table "eval_results"}}{{on_cluster}}
(
    project_id           UUID,
    evaluator_key        LowCardinality(String),
    application_revision LowCardinality(String),
    testset_revision     LowCardinality(String),
    testcase             String CODEC(ZSTD(1)),
    start_time           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    tie                  UInt64 CODEC(NONE),
    link_trace_id        FixedString(16) CODEC(NONE),
    link_span_id         FixedString(8) CODEC(NONE),
    trace_type           Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3),
    trace_id             FixedString(16) CODEC(NONE),
    span_id              FixedString(8) CODEC(NONE),
    version              UInt64 CODEC(Delta, ZSTD(1)),
    created_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at           DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_by_id        UUID CODEC(ZSTD(1)),
    status_code          Enum8('STATUS_CODE_UNSET' = 0, 'STATUS_CODE_OK' = 1, 'STATUS_CODE_ERROR' = 2),
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3),
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3),
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4),
    evaluator_id         UUID CODEC(ZSTD(1)),
    evaluator_slug       LowCardinality(String),
    evaluator_revision   LowCardinality(String),
    application_id       UUID CODEC(ZSTD(1)),
    application_slug     LowCardinality(String),
    numbers              Map(LowCardinality(String), Float64) CODEC(ZSTD(1)),
    strings              Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    bools                Map(LowCardinality(String), Bool) CODEC(ZSTD(1)),
    outputs              String CODEC(ZSTD(1)),
    whole                Bool,
    INDEX trace_index trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX evaluator_index evaluator_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
ORDER BY (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie)
SETTINGS index_granularity = 1024, {{settings}};
{{distributed "eval_results" "cityHash64(trace_id)"}}

-- What was written before these tables were there; its outputs stay where they
-- are. Repeated, it makes equal rows, which replace each other.
INSERT INTO {{whole "annotations"}}
    (project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id, link_number, trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id,
     status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, application_revision,
     testset_revision, testcase, numbers, strings, bools, whole)
WITH if(link_count > 0, arrayDistinct(arrayZip(link_trace_ids, link_span_ids)), [(toFixedString('', 16), toFixedString('', 8))]) AS links,
    if(evaluator_slug != '', evaluator_slug, lower(str['ag.references.evaluator.id'])) AS evaluator
SELECT project_id, link.1, evaluator, start_time, tie, link.2, number - 1, trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id, status_code,
    multiIf(bool['ag.flags.is_feedback'], 'human', bool['ag.flags.is_custom'], 'custom', 'auto'),
    multiIf(bool['ag.flags.is_evaluation'], 'eval', str['colonnade.kind'] = 'play', 'play', 'adhoc'),
    multiIf(bool['ag.flags.is_sdk'], 'sdk', bool['ag.flags.is_web'], 'web', str['colonnade.channel'] = 'otlp', 'otlp', 'api'),
    evaluator_id, evaluator_slug,
    multiIf(str['ag.references.evaluator_revision.id'] != '', lower(str['ag.references.evaluator_revision.id']), str['ag.references.evaluator_revision.slug'] != '', str['ag.references.evaluator_revision.slug'], str['ag.references.evaluator_revision.version'] != '', concat(evaluator, '@', str['ag.references.evaluator_revision.version']), ''),
    application_id, application_slug,
    multiIf(str['ag.references.application_revision.id'] != '', lower(str['ag.references.application_revision.id']), str['ag.references.application_revision.slug'] != '', str['ag.references.application_revision.slug'], str['ag.references.application_revision.version'] != '', concat(if(application_slug != '', application_slug, lower(str['ag.references.application.id'])), '@', str['ag.references.application_revision.version']), ''),
    multiIf(str['ag.references.testset_revision.id'] != '', lower(str['ag.references.testset_revision.id']), str['ag.references.testset_revision.slug'] != '', str['ag.references.testset_revision.slug'], str['ag.references.testset_revision.version'] != '', concat(if(str['ag.references.testset.slug'] != '', str['ag.references.testset.slug'], lower(str['ag.references.testset.id'])), '@', str['ag.references.testset_revision.version']), ''),
    multiIf(str['ag.references.testcase.id'] != '', lower(str['ag.references.testcase.id']), str['ag.references.testcase.slug'] != '', str['ag.references.testcase.slug'], str['ag.references.testcase.version'] != '', concat('', '@', str['ag.references.testcase.version']), ''),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), num)),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), str)),
    mapApply((k, v) -> (substring(k, 17), v), mapFilter((k, v) -> k = 'ag.data.outputs' OR startsWith(k, 'ag.data.outputs.'), bool)),
    false
FROM {{whole "spans"}}
ARRAY JOIN links AS link, arrayEnumerate(links) AS number
WHERE link_count > 0 OR (parent_id = toFixedString('', 8) AND trace_type_declared = 'annotation');

INSERT INTO {{whole "eval_results"}}
    (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
     created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, numbers, strings, bools, whole)
SELECT project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
    created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, numbers, strings, bools, false
FROM {{whole "annotations"}}
WHERE evaluator_key != '' AND link_number = 0 AND NOT whole;
