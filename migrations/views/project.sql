-- The views of a project for analysts, in a database of its own. They are stable by
-- promise: columns are added, never renamed or given another meaning. A change that breaks
-- this makes a new view beside the old one.
--
-- Ids are lower-case hexadecimal digits, absent numbers NULL (the tables hold NaN, and a
-- sum with NaN is NaN), and each span comes once (FINAL). Columns of the key are passed on
-- as they are, so that conditions on trace_type and start_time choose the granules that are
-- read; start_time has microseconds for that reason, and start_ns the rest. Joins have
-- start_time among their keys: ClickHouse then applies a condition on it to both sides.
--
-- spans_raw is spans without FINAL, which takes more than three times as long over long
-- ranges (deploy/docs/decisions/0014-spans-raw.md).
--
-- The placeholders: `view` is the name of a view, `base` that of a table, `project` the
-- literal of the project's id, `number` an absent number as NULL, `total` also a sum of 0, `id` an absent UUID as
-- NULL, `global` makes a join of two Distributed tables one of all shards.
{{range spans}}CREATE OR REPLACE VIEW {{view .Name}}{{on_cluster}}
(
    trace_id              String COMMENT '32 hexadecimal digits',
    span_id               String COMMENT '16 hexadecimal digits',
    parent_id             Nullable(String) COMMENT 'span_id of the parent as sent; NULL without one',
    is_root               Bool COMMENT 'whether the span is a root of what is stored: it has no parent, or its parent was not stored when the trace was finalized',
    name                  String COMMENT 'span name as sent',
    trace_type            Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'invocation or annotation, of the whole trace',
    span_type             Enum8('task' = 1, 'workflow' = 2, 'agent' = 3, 'chain' = 4, 'tool' = 5, 'llm' = 6, 'chat' = 7, 'completion' = 8, 'embedding' = 9, 'query' = 10, 'rerank' = 11, 'unknown' = 12) COMMENT 'type of the span, task if none was declared',
    kind                  String COMMENT 'server, client, internal, producer, consumer or unspecified',
    status                String COMMENT 'ok, error or unset',
    message               String COMMENT 'status message as sent',
    start_time            DateTime64(6, 'UTC') COMMENT 'start in microseconds; a condition on it chooses what is read',
    start_ns              UInt16 COMMENT 'nanoseconds of the start below the microsecond',
    end_time              DateTime64(6, 'UTC') COMMENT 'end in microseconds',
    end_ns                UInt16 COMMENT 'nanoseconds of the end below the microsecond',
    duration_ms           Nullable(Float64) COMMENT 'end minus start in milliseconds',
    errors                Nullable(Float64) COMMENT 'errors of this span alone',
    tokens_prompt         Nullable(Float64) COMMENT 'prompt tokens of this span alone',
    tokens_completion     Nullable(Float64) COMMENT 'completion tokens of this span alone',
    tokens_total          Nullable(Float64) COMMENT 'all tokens of this span alone',
    cost_prompt           Nullable(Float64) COMMENT 'cost of the prompt of this span alone, in the unit of the price table',
    cost_completion       Nullable(Float64) COMMENT 'cost of the completion of this span alone',
    cost                  Nullable(Float64) COMMENT 'cost of this span alone',
    model                 LowCardinality(String) COMMENT 'model that answered, empty without one',
    provider              LowCardinality(String) COMMENT 'vendor of the model, empty without one',
    service               LowCardinality(String) COMMENT 'service.name of the resource',
    application           LowCardinality(String) COMMENT 'slug of the application, empty without one',
    application_id        Nullable(UUID) COMMENT 'application, NULL without one',
    variant_id            Nullable(UUID) COMMENT 'variant of the application, NULL without one',
    revision_id           Nullable(UUID) COMMENT 'revision of the application, NULL without one',
    environment           LowCardinality(String) COMMENT 'slug of the environment, empty without one',
    evaluator             LowCardinality(String) COMMENT 'slug of the evaluator, empty without one',
    evaluator_id          Nullable(UUID) COMMENT 'evaluator, NULL without one',
    evaluator_revision_id Nullable(UUID) COMMENT 'revision of the evaluator, NULL without one',
    testset_revision_id   Nullable(UUID) COMMENT 'revision of the testset, NULL without one',
    testcase_id           Nullable(UUID) COMMENT 'test case, NULL without one',
    session_id            String COMMENT 'session, empty without one',
    user_id               String COMMENT 'end user, empty without one',
    agent_id              String COMMENT 'agent, empty without one',
    links                 Array(Tuple(trace_id String, span_id String)) COMMENT 'spans of other traces that the span links to',
    events                Array(String) COMMENT 'names of the events, in their order',
    attributes_string     Map(LowCardinality(String), String) COMMENT 'strings among the attributes by dotted path, values up to 512 bytes',
    attributes_number     Map(LowCardinality(String), Float64) COMMENT 'numbers among the attributes by dotted path',
    attributes_bool       Map(LowCardinality(String), Bool) COMMENT 'booleans among the attributes by dotted path',
    created_at            DateTime64(6, 'UTC') COMMENT 'first received',
    partition_week        Date COMMENT 'Monday of start_time; a condition on it skips partitions'
)
{{security}}
AS
SELECT lower(hex(s.trace_id)) AS trace_id, lower(hex(s.span_id)) AS span_id,
    if(s.parent_id = toFixedString('', 8), NULL, lower(hex(s.parent_id))) AS parent_id, s.is_root AS is_root,
    span_name AS name, trace_type, span_type, lower(substring(toString(span_kind), 11)) AS kind, lower(substring(toString(status_code), 13)) AS status,
    status_message AS message, start_time, start_ns, end_time, end_ns, {{number "duration_ms"}} AS duration_ms, {{number "errors"}} AS errors,
    {{number "tokens_prompt"}} AS tokens_prompt, {{number "tokens_completion"}} AS tokens_completion, {{number "tokens_total"}} AS tokens_total,
    {{number "costs_prompt"}} AS cost_prompt, {{number "costs_completion"}} AS cost_completion, {{number "costs_total"}} AS cost,
    model, provider, service, application_slug AS application, {{id "application_id"}} AS application_id,
    {{id "application_variant_id"}} AS variant_id, {{id "application_revision_id"}} AS revision_id, environment_slug AS environment,
    evaluator_slug AS evaluator, {{id "evaluator_id"}} AS evaluator_id, {{id "evaluator_revision_id"}} AS evaluator_revision_id,
    {{id "testset_revision_id"}} AS testset_revision_id, {{id "testcase_id"}} AS testcase_id, session_id, user_id, agent_id,
    arrayMap((link_trace, link_span) -> (lower(hex(link_trace)), lower(hex(link_span))), link_trace_ids, link_span_ids)::Array(Tuple(trace_id String, span_id String)) AS links, event_names AS events,
    attributes_string, attributes_number, attributes_bool, created_at, partition_week
FROM {{base "spans"}} AS s{{.Final}}
WHERE project_id = {{project}}
COMMENT '{{.Comment}}';

{{end}}CREATE OR REPLACE VIEW {{view "traces"}}{{on_cluster}}
(
    trace_id          String COMMENT '32 hexadecimal digits',
    name              String COMMENT 'name of the first root',
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'invocation or annotation',
    status            String COMMENT 'status of the root: ok, error or unset',
    start_time        DateTime64(6, 'UTC') COMMENT 'start of the root; a condition on it chooses what is read',
    end_time          DateTime64(6, 'UTC') COMMENT 'latest end of all spans; of the root until the trace is finalized',
    duration_ms       Nullable(Float64) COMMENT 'duration of the root in milliseconds',
    spans             Nullable(UInt32) COMMENT 'spans of the trace; NULL until it is finalized',
    errors            Nullable(Float64) COMMENT 'errors of all spans; NULL until the trace is finalized, and without any',
    tokens_prompt     Nullable(Float64) COMMENT 'prompt tokens of all spans, NULL as in errors',
    tokens_completion Nullable(Float64) COMMENT 'completion tokens of all spans, NULL as in errors',
    tokens_total      Nullable(Float64) COMMENT 'all tokens of all spans, NULL as in errors',
    cost_prompt       Nullable(Float64) COMMENT 'cost of the prompts of all spans, NULL as in errors',
    cost_completion   Nullable(Float64) COMMENT 'cost of the completions of all spans, NULL as in errors',
    cost              Nullable(Float64) COMMENT 'cost of all spans, NULL as in errors',
    model             LowCardinality(String) COMMENT 'model of the root, empty without one',
    application       LowCardinality(String) COMMENT 'slug of the application, empty without one',
    revision_id       Nullable(UUID) COMMENT 'revision of the application, NULL without one',
    environment       LowCardinality(String) COMMENT 'slug of the environment, empty without one',
    session_id        String COMMENT 'session, empty without one',
    user_id           String COMMENT 'end user, empty without one',
    service           LowCardinality(String) COMMENT 'service.name of the resource',
    finalized         Bool COMMENT 'false while spans may still change the totals (seconds); a trace with several roots has a row for each of them meanwhile',
    partition_week    Date COMMENT 'Monday of start_time; a condition on it skips partitions'
)
{{security}}
AS
SELECT lower(hex(s.trace_id)) AS trace_id, s.span_name AS name, s.trace_type AS trace_type, lower(substring(toString(s.status_code), 13)) AS status,
    s.start_time AS start_time, greatest(s.end_time, t.end_time) AS end_time, {{number "s.duration_ms"}} AS duration_ms, nullIf(t.spans, 0) AS spans,
    {{total "t.errors"}} AS errors, {{total "t.tokens_prompt"}} AS tokens_prompt, {{total "t.tokens_completion"}} AS tokens_completion,
    {{total "t.tokens_total"}} AS tokens_total, {{total "t.costs_prompt"}} AS cost_prompt, {{total "t.costs_completion"}} AS cost_completion,
    {{total "t.costs_total"}} AS cost, s.model AS model, s.application_slug AS application, {{id "s.application_revision_id"}} AS revision_id,
    s.environment_slug AS environment, s.session_id AS session_id, s.user_id AS user_id, s.service AS service, (t.spans > 0)::Bool AS finalized,
    s.partition_week AS partition_week
FROM
(
    SELECT trace_id, span_id, span_name, trace_type, status_code, start_time, end_time, duration_ms, model, application_slug, application_revision_id,
        environment_slug, session_id, user_id, service, partition_week
    FROM {{base "spans"}} FINAL
    WHERE project_id = {{project}} AND is_root
) AS s
{{global}}LEFT JOIN
(
    SELECT trace_id, start_time, root_span_id, end_time, spans, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total
    FROM {{base "trace_totals"}} FINAL
    WHERE project_id = {{project}}
) AS t ON s.trace_id = t.trace_id AND s.span_id = t.root_span_id AND s.start_time = t.start_time
WHERE t.spans > 0 OR s.trace_id {{global}}NOT IN (SELECT trace_id FROM {{base "trace_totals"}} FINAL WHERE project_id = {{project}} AND one_tree = 0)
COMMENT 'one row a trace, of its first root';

CREATE OR REPLACE VIEW {{view "span_payloads"}}{{on_cluster}}
(
    trace_id   String COMMENT '32 hexadecimal digits',
    span_id    String COMMENT '16 hexadecimal digits',
    trace_type Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'invocation or annotation, of the whole trace',
    span_type  Enum8('task' = 1, 'workflow' = 2, 'agent' = 3, 'chain' = 4, 'tool' = 5, 'llm' = 6, 'chat' = 7, 'completion' = 8, 'embedding' = 9, 'query' = 10, 'rerank' = 11, 'unknown' = 12) COMMENT 'type of the span',
    name       String COMMENT 'span name as sent',
    start_time DateTime64(6, 'UTC') COMMENT 'start; a condition on it chooses what is read'{{range payloads}},
    {{.Name}} String COMMENT '{{.Name}} of the span, JSON text as stored, empty without any'{{end}},
    bytes      UInt64 COMMENT 'bytes of these texts',
    partition_week Date COMMENT 'Monday of start_time; a condition on it skips partitions'
)
{{security}}
AS
SELECT lower(hex(s.trace_id)) AS trace_id, lower(hex(s.span_id)) AS span_id, s.trace_type AS trace_type, s.span_type AS span_type, s.span_name AS name,
    s.start_time AS start_time{{range payloads}}, p.{{.Name}} AS {{.Name}}{{end}}, toUInt64(s.payload_bytes) AS bytes, s.partition_week AS partition_week
FROM
(
    SELECT stream_partition, version, trace_id, span_id, start_time, partition_week{{range payloads}}, {{.Expression}} AS {{.Name}}{{end}}
    FROM {{base "span_payloads_packed"}} FINAL
    WHERE project_id = {{project}}
) AS p
{{global}}INNER JOIN
(
    SELECT stream_partition, version, trace_id, span_id, trace_type, span_type, span_name, start_time, payload_bytes, partition_week
    FROM {{base "spans"}} FINAL
    WHERE project_id = {{project}}
) AS s ON p.span_id = s.span_id AND p.trace_id = s.trace_id AND p.version = s.version AND p.stream_partition = s.stream_partition
    AND p.start_time = s.start_time AND p.partition_week = s.partition_week
COMMENT 'payloads of spans; give start_time and partition_week';

CREATE OR REPLACE VIEW {{view "messages"}}{{on_cluster}}
(
    trace_id       String COMMENT '32 hexadecimal digits',
    span_id        String COMMENT '16 hexadecimal digits',
    start_time     DateTime64(6, 'UTC') COMMENT 'start of the span; a condition on it chooses what is read',
    side           String COMMENT 'input or output',
    position       UInt32 COMMENT 'position among the messages of its side, from 1',
    role           String COMMENT 'role of the author: system, user, assistant or tool',
    content        String COMMENT 'text, or JSON of a content of several parts',
    tool_calls     String COMMENT 'JSON of the tool calls, empty without any',
    name           String COMMENT 'name of the author or tool, empty without one',
    partition_week Date COMMENT 'Monday of start_time; a condition on it skips partitions'
)
{{security}}
AS
SELECT trace_id, span_id, start_time, message.1 AS side, message.2 AS position, JSONExtractString(message.3, 'role') AS role,
    if(JSONType(message.3, 'content') = 'String', JSONExtractString(message.3, 'content'), JSONExtractRaw(message.3, 'content')) AS content,
    JSONExtractRaw(message.3, 'tool_calls') AS tool_calls, JSONExtractString(message.3, 'name') AS name, partition_week
FROM {{view "span_payloads"}}
ARRAY JOIN arrayConcat(
    arrayMap((m, i) -> ('input', i, m), JSONExtractArrayRaw(inputs, 'prompt') AS prompt, arrayEnumerate(prompt)),
    arrayMap((m, i) -> ('output', i, m), JSONExtractArrayRaw(outputs, 'completion') AS completion, arrayEnumerate(completion))) AS message
WHERE span_type IN ('chat', 'completion', 'llm')
COMMENT 'messages of model calls; give start_time and partition_week';

CREATE OR REPLACE VIEW {{view "tool_calls"}}{{on_cluster}}
(
    trace_id       String COMMENT '32 hexadecimal digits',
    span_id        String COMMENT '16 hexadecimal digits',
    start_time     DateTime64(6, 'UTC') COMMENT 'start of the call; a condition on it chooses what is read',
    name           String COMMENT 'name of the span of the tool',
    arguments      String COMMENT 'inputs of the tool, JSON text',
    result         String COMMENT 'outputs of the tool, JSON text',
    duration_ms    Nullable(Float64) COMMENT 'duration in milliseconds',
    status         String COMMENT 'ok, error or unset',
    partition_week Date COMMENT 'Monday of start_time; a condition on it skips partitions'
)
{{security}}
AS
SELECT s.trace_id AS trace_id, s.span_id AS span_id, s.start_time AS start_time, s.name AS name, p.inputs AS arguments, p.outputs AS result,
    s.duration_ms AS duration_ms, s.status AS status, s.partition_week AS partition_week
FROM {{view "spans"}} AS s
{{global}}INNER JOIN {{view "span_payloads"}} AS p ON s.trace_id = p.trace_id AND s.span_id = p.span_id AND s.start_time = p.start_time AND s.partition_week = p.partition_week
WHERE s.span_type = 'tool'
COMMENT 'calls of tools with their arguments and results; give start_time and partition_week';

CREATE OR REPLACE VIEW {{view "annotations"}}{{on_cluster}}
(
    annotation_trace_id  String COMMENT 'trace id of the annotation itself',
    trace_id             String COMMENT 'trace that is annotated, empty without a link',
    span_id              String COMMENT 'span that is annotated, empty without a link',
    evaluator            LowCardinality(String) COMMENT 'slug of the evaluator, else its id, empty without one',
    evaluator_revision   LowCardinality(String) COMMENT 'revision of the evaluator, empty without one',
    application          LowCardinality(String) COMMENT 'slug of the application, empty without one',
    application_revision LowCardinality(String) COMMENT 'revision of the application, empty without one',
    testset_revision     LowCardinality(String) COMMENT 'revision of the testset, empty without one',
    testcase             String COMMENT 'test case, empty without one',
    origin               Enum8('custom' = 1, 'human' = 2, 'auto' = 3) COMMENT 'who annotated',
    kind                 Enum8('adhoc' = 1, 'eval' = 2, 'play' = 3) COMMENT 'what the annotation was made for',
    channel              Enum8('otlp' = 1, 'web' = 2, 'sdk' = 3, 'api' = 4) COMMENT 'how the annotation came',
    start_time           DateTime64(6, 'UTC') COMMENT 'when it was made',
    score                Nullable(Float64) COMMENT 'the output named score, in any case',
    success              Nullable(Bool) COMMENT 'the output named success, in any case',
    label                Nullable(String) COMMENT 'the output named label, in any case',
    comment              Nullable(String) COMMENT 'the output named comment, in any case',
    outputs              String COMMENT 'all outputs, JSON; empty where they are too large for here',
    numbers              Map(LowCardinality(String), Float64) COMMENT 'numbers among the outputs by dotted path',
    strings              Map(LowCardinality(String), String) COMMENT 'strings among the outputs by dotted path',
    bools                Map(LowCardinality(String), Bool) COMMENT 'booleans among the outputs by dotted path'
)
{{security}}
AS
SELECT lower(hex(a.trace_id)) AS annotation_trace_id, if(link_trace_id = toFixedString('', 16), '', lower(hex(link_trace_id))) AS trace_id,
    if(link_span_id = toFixedString('', 8), '', lower(hex(link_span_id))) AS span_id, evaluator_key AS evaluator, evaluator_revision,
    application_slug AS application, application_revision, testset_revision, testcase, origin, kind, channel, start_time,
    {{output "numbers" "score"}} AS score, {{output "bools" "success"}} AS success, {{output "strings" "label"}} AS label,
    {{output "strings" "comment"}} AS comment, outputs, numbers, strings, bools
FROM {{base "annotation_index"}} AS a FINAL
WHERE project_id = {{project}} AND trace_type = 'annotation'
COMMENT 'one row an annotation and link';

CREATE OR REPLACE VIEW {{view "evaluation_results"}}{{on_cluster}}
(
    run_id               UUID COMMENT 'evaluation run; a condition on it chooses what is read',
    scenario_id          UUID COMMENT 'scenario of the run: a testcase or a trace',
    testcase_id          Nullable(UUID) COMMENT 'testcase, NULL without one; of the scenario it is that of the input step',
    repeat               UInt32 COMMENT 'repeat of the step, from 0',
    step                 LowCardinality(String) COMMENT 'key of the step',
    step_type            Enum8('none' = 0, 'input' = 1, 'invocation' = 2, 'annotation' = 3) COMMENT 'input, invocation of an application, annotation by an evaluator, or none if the run has no such step',
    evaluator            LowCardinality(String) COMMENT 'slug of the evaluator, else its id, empty for other steps',
    application_revision LowCardinality(String) COMMENT 'revision of the application that the result is of or about, empty without one',
    trace_id             String COMMENT 'trace of the application, also of an annotation; empty without one',
    annotation_trace_id  String COMMENT 'trace of the annotation itself, empty for other steps',
    score                Nullable(Float64) COMMENT 'the output named score, in any case',
    success              Nullable(Bool) COMMENT 'the output named success, in any case',
    outputs              String COMMENT 'outputs of an annotation, JSON; empty for other steps and where they are too large for here',
    numbers              Map(LowCardinality(String), Float64) COMMENT 'numbers among the outputs by dotted path',
    strings              Map(LowCardinality(String), String) COMMENT 'strings among the outputs by dotted path',
    bools                Map(LowCardinality(String), Bool) COMMENT 'booleans among the outputs by dotted path',
    latency_ms           Nullable(Float64) COMMENT 'duration of the trace of the step itself in milliseconds',
    cost                 Nullable(Float64) COMMENT 'cost of the trace of the step itself, in the unit of the price table',
    status               LowCardinality(String) COMMENT 'pending, queued, running, success, failure, errors or cancelled',
    error                String COMMENT 'why the step failed, empty without a failure'
)
{{security}}
AS
SELECT run_id, scenario_id, {{id "r.testcase_id"}} AS testcase_id, repeat, step, r.step_type AS step_type, evaluator, application_revision,
    multiIf(r.step_type = 'annotation' AND r.judged_trace_id != toFixedString('', 16), lower(hex(r.judged_trace_id)),
        r.step_type != 'annotation' AND r.trace_id != toFixedString('', 16), lower(hex(r.trace_id)), '') AS trace_id,
    if(r.step_type = 'annotation' AND r.trace_id != toFixedString('', 16), lower(hex(r.trace_id)), '') AS annotation_trace_id,
    {{output "numbers" "score"}} AS score, {{output "bools" "success"}} AS success, outputs, numbers, strings, bools,
    {{number "r.latency_ms"}} AS latency_ms, {{number "r.cost"}} AS cost, status, error
FROM {{base "run_results"}} AS r FINAL
WHERE project_id = {{project}} AND NOT deleted
COMMENT 'one row a result of an evaluation run';

CREATE OR REPLACE VIEW {{view "sessions"}}{{on_cluster}}
(
    id     String COMMENT 'session',
    day    Date COMMENT 'day of start_time, UTC; give a condition on it',
    first  DateTime64(6, 'UTC') COMMENT 'first start of its traces of the day',
    last   DateTime64(6, 'UTC') COMMENT 'last end of its traces of the day',
    traces UInt64 COMMENT 'traces of the day',
    errors Float64 COMMENT 'errors of these traces',
    tokens Float64 COMMENT 'tokens of these traces',
    cost   Float64 COMMENT 'cost of these traces'
)
{{security}}
AS
SELECT session_id AS id, toDate(start_time) AS day, min(start_time) AS first, max(end_time) AS last, count() AS traces,
    ifNull(sum(t.errors), 0) AS errors, ifNull(sum(t.tokens_total), 0) AS tokens, ifNull(sum(t.cost), 0) AS cost
FROM {{view "traces"}} AS t
WHERE trace_type = 'invocation' AND session_id != ''
GROUP BY id, day
COMMENT 'one row a session and day';

CREATE OR REPLACE VIEW {{view "users"}}{{on_cluster}}
(
    id     String COMMENT 'end user',
    day    Date COMMENT 'day of start_time, UTC; give a condition on it',
    first  DateTime64(6, 'UTC') COMMENT 'first start of its traces of the day',
    last   DateTime64(6, 'UTC') COMMENT 'last end of its traces of the day',
    traces UInt64 COMMENT 'traces of the day',
    errors Float64 COMMENT 'errors of these traces',
    tokens Float64 COMMENT 'tokens of these traces',
    cost   Float64 COMMENT 'cost of these traces'
)
{{security}}
AS
SELECT user_id AS id, toDate(start_time) AS day, min(start_time) AS first, max(end_time) AS last, count() AS traces,
    ifNull(sum(t.errors), 0) AS errors, ifNull(sum(t.tokens_total), 0) AS tokens, ifNull(sum(t.cost), 0) AS cost
FROM {{view "traces"}} AS t
WHERE trace_type = 'invocation' AND user_id != ''
GROUP BY id, day
COMMENT 'one row an end user and day';

CREATE OR REPLACE VIEW {{view "metrics_1m"}}{{on_cluster}}
(
    minute            DateTime('UTC') COMMENT 'minute in which the roots start; a condition on it chooses what is read',
    trace_type        Enum8('invocation' = 1, 'annotation' = 2, 'unknown' = 3) COMMENT 'type of the traces',
    roots             UInt64 COMMENT 'roots that start in the minute',
    errors            Nullable(Float64) COMMENT 'errors of these traces',
    tokens_prompt     Nullable(Float64) COMMENT 'prompt tokens of these traces',
    tokens_completion Nullable(Float64) COMMENT 'completion tokens of these traces',
    tokens_total      Nullable(Float64) COMMENT 'tokens of these traces',
    cost_prompt       Nullable(Float64) COMMENT 'cost of the prompts of these traces',
    cost_completion   Nullable(Float64) COMMENT 'cost of the completions of these traces',
    cost              Nullable(Float64) COMMENT 'cost of these traces',
    duration_p50      Nullable(Float64) COMMENT 'median of the durations in milliseconds; do not average it, use durations',
    duration_p95      Nullable(Float64) COMMENT '95th percentile of the durations',
    duration_p99      Nullable(Float64) COMMENT '99th percentile of the durations',
    durations         Array(Float64) COMMENT 'the durations: quantilesArray(0.95)(durations) over rows is exact'
)
{{security}}
AS
SELECT m.minute AS minute, m.trace_type AS trace_type, m.roots AS roots{{range sums}},
    if(empty(m.{{.}}), NULL, arraySum(m.{{.}})) AS {{viewed .}}{{end}}{{range quantiles}},
    if(empty(m.duration), NULL, arrayReduce('quantileExact(0.{{.}})', m.duration)) AS duration_p{{.}}{{end}}, m.duration AS durations
FROM {{base "trace_metrics_1m"}} AS m FINAL
WHERE project_id = {{project}} AND NOT needs_rebuild AND undecided = 0
COMMENT 'metrics of the roots of a minute, for long ranges; minutes that are not complete yet are missing';

CREATE OR REPLACE VIEW {{view "fields"}}{{on_cluster}}
(
    path    String COMMENT 'dotted path of the attribute',
    type    Enum8('string' = 1, 'number' = 2, 'bool' = 3, 'unindexed' = 4) COMMENT 'which map of spans has it; unindexed: none, its values are long',
    sample  String COMMENT 'a value, cut short',
    seen_at DateTime64(6, 'UTC') COMMENT 'when the path was last recorded'
)
{{security}}
AS
SELECT path, type, sample, seen_at
FROM {{base "attribute_keys"}} FINAL
WHERE project_id = {{project}}
COMMENT 'paths of attributes that occur';

CREATE OR REPLACE VIEW {{view "rejected_spans"}}{{on_cluster}}
(
    rejected_at DateTime64(6, 'UTC') COMMENT 'when the span was refused',
    stage       LowCardinality(String) COMMENT 'which step refused it',
    reason      String COMMENT 'why, in one sentence',
    source      LowCardinality(String) COMMENT 'how the span came (otlp, api, ...)',
    trace_id    String COMMENT 'trace id as far as known',
    span_id     String COMMENT 'span id as far as known',
    name        String COMMENT 'span name as far as known'
)
{{security}}
AS
SELECT rejected_at, stage, reason, source, trace_id, span_id, span_name AS name
FROM {{base "rejected_spans"}}
WHERE project_id = {{project}}
COMMENT 'spans that were refused, and why';

CREATE OR REPLACE VIEW {{view "applications"}}{{on_cluster}}
(
    id          UUID COMMENT 'application',
    slug        String COMMENT 'slug, which spans name',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never',
    archived_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived, NULL if it is live'
)
{{security}}
AS
SELECT id, slug, name, description, tags, meta, created_at, updated_at, archived_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'artifact' AND family = 'workflow' AND is_application
COMMENT 'one row an application, at most seconds old';

CREATE OR REPLACE VIEW {{view "evaluators"}}{{on_cluster}}
(
    id          UUID COMMENT 'evaluator',
    slug        String COMMENT 'slug, which spans name',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never',
    archived_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived, NULL if it is live'
)
{{security}}
AS
SELECT id, slug, name, description, tags, meta, created_at, updated_at, archived_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'artifact' AND family = 'workflow' AND is_evaluator
COMMENT 'one row an evaluator, at most seconds old';

CREATE OR REPLACE VIEW {{view "testsets"}}{{on_cluster}}
(
    id          UUID COMMENT 'testset',
    slug        String COMMENT 'slug, which spans name',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never',
    archived_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived, NULL if it is live'
)
{{security}}
AS
SELECT id, slug, name, description, tags, meta, created_at, updated_at, archived_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'artifact' AND family = 'testset'
COMMENT 'one row a testset, at most seconds old';

CREATE OR REPLACE VIEW {{view "environments"}}{{on_cluster}}
(
    id          UUID COMMENT 'environment',
    slug        String COMMENT 'slug, which spans name',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never',
    archived_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived, NULL if it is live'
)
{{security}}
AS
SELECT id, slug, name, description, tags, meta, created_at, updated_at, archived_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'artifact' AND family = 'environment'
COMMENT 'one row an environment, at most seconds old';

CREATE OR REPLACE VIEW {{view "revisions"}}{{on_cluster}}
(
    id          UUID COMMENT 'revision',
    slug        String COMMENT 'slug of the revision',
    kind        String COMMENT 'what it is a revision of: application, evaluator, environment, testset, query or workflow',
    artifact_id UUID COMMENT 'application, evaluator, environment, testset or query',
    artifact    String COMMENT 'slug of the artifact, which spans name',
    variant_id  UUID COMMENT 'variant',
    variant     String COMMENT 'slug of the variant',
    version     Int32 COMMENT 'version within the variant, from 0 or 1 up',
    message     String COMMENT 'message of the commit, empty without one',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never',
    archived_at Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was archived, NULL if it is live'
)
{{security}}
AS
SELECT id, slug, multiIf(is_application, 'application', is_evaluator, 'evaluator', toString(family)) AS kind, parent_id AS artifact_id, parent AS artifact,
    variant_id, variant, ifNull(e.version, 0) AS version, message, name, description, tags, meta, created_at, updated_at, archived_at
FROM {{base "entities"}} AS e FINAL
WHERE project_id = {{project}} AND e.kind = 'revision'
COMMENT 'one row a revision, at most seconds old';

CREATE OR REPLACE VIEW {{view "testcases"}}{{on_cluster}}
(
    id         UUID COMMENT 'test case',
    testset_id UUID COMMENT 'testset of the test case',
    testset    String COMMENT 'slug of the testset',
    data       String COMMENT 'the fields of the test case, JSON',
    tags       String COMMENT 'tags, JSON, empty without any',
    meta       String COMMENT 'meta, JSON, empty without any',
    created_at DateTime64(6, 'UTC') COMMENT 'when it was created'
)
{{security}}
AS
SELECT id, parent_id AS testset_id, parent AS testset, data, tags, meta, created_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'testcase'
COMMENT 'one row a test case, of whichever revision of its testset; at most seconds old';

CREATE OR REPLACE VIEW {{view "runs"}}{{on_cluster}}
(
    id         UUID COMMENT 'evaluation run',
    status     String COMMENT 'pending, queued, running, success, failure, errors or cancelled',
    references String COMMENT 'what the steps refer to, JSON: a list of {name: {id, slug, version}}',
    name        String COMMENT 'name, empty without one',
    description String COMMENT 'description, empty without one',
    tags        String COMMENT 'tags, JSON, empty without any',
    meta        String COMMENT 'meta, JSON, empty without any',
    created_at  DateTime64(6, 'UTC') COMMENT 'when it was created',
    updated_at  Nullable(DateTime64(6, 'UTC')) COMMENT 'when it was changed last, NULL if never'
)
{{security}}
AS
SELECT id, status, data AS references, name, description, tags, meta, created_at, updated_at
FROM {{base "entities"}} FINAL
WHERE project_id = {{project}} AND kind = 'run' AND NOT deleted
COMMENT 'one row an evaluation run, at most seconds old';
