-- eval_results has a row for every root that names an evaluator, also for one
-- without links that does not say itself that it is an annotation: what names an
-- evaluator is all there, whatever type its trace has or gets. Such a row copies
-- no outputs (whole is false). names_evaluator tells that a trace has, or had,
-- such a root, as is_annotation does for links: whoever removes or replaces its
-- spans looks for rows of it.
{{alter "trace_index" "ADD COLUMN IF NOT EXISTS names_evaluator SimpleAggregateFunction(max, UInt8)"}}

-- What was written before, as in 0003_annotations.sql. The index comes first: a
-- row that it does not tell of would be left behind.
INSERT INTO {{whole "trace_index"}}
    (project_id, trace_id, min_start, max_start, max_end, min_week, max_week, created_at, last_version, stream_partition, first_version, names_evaluator)
SELECT project_id, trace_id, min(start_time), max(start_time), max(end_time), min(week), max(week), min(created_at), max(version), any(stream_partition), min(version), 1
FROM {{whole "spans"}}
WHERE parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000'))
GROUP BY project_id, trace_id;

INSERT INTO {{whole "eval_results"}}
    (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie, link_trace_id, link_span_id, trace_type, trace_id, span_id, version, created_at, updated_at,
     created_by_id, status_code, origin, kind, channel, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, whole)
WITH if(evaluator_slug != '', evaluator_slug, lower(str['ag.references.evaluator.id'])) AS evaluator
SELECT project_id, evaluator,
    multiIf(str['ag.references.application_revision.id'] != '', lower(str['ag.references.application_revision.id']), str['ag.references.application_revision.slug'] != '', str['ag.references.application_revision.slug'], str['ag.references.application_revision.version'] != '', concat(if(application_slug != '', application_slug, lower(str['ag.references.application.id'])), '@', str['ag.references.application_revision.version']), ''),
    multiIf(str['ag.references.testset_revision.id'] != '', lower(str['ag.references.testset_revision.id']), str['ag.references.testset_revision.slug'] != '', str['ag.references.testset_revision.slug'], str['ag.references.testset_revision.version'] != '', concat(if(str['ag.references.testset.slug'] != '', str['ag.references.testset.slug'], lower(str['ag.references.testset.id'])), '@', str['ag.references.testset_revision.version']), ''),
    multiIf(str['ag.references.testcase.id'] != '', lower(str['ag.references.testcase.id']), str['ag.references.testcase.slug'] != '', str['ag.references.testcase.slug'], str['ag.references.testcase.version'] != '', concat('', '@', str['ag.references.testcase.version']), ''),
    start_time, tie, toFixedString('', 16), toFixedString('', 8), trace_type, trace_id, span_id, version, created_at, updated_at, created_by_id, status_code,
    multiIf(bool['ag.flags.is_feedback'], 'human', bool['ag.flags.is_custom'], 'custom', 'auto'),
    multiIf(bool['ag.flags.is_evaluation'], 'eval', str['colonnade.kind'] = 'play', 'play', 'adhoc'),
    multiIf(bool['ag.flags.is_sdk'], 'sdk', bool['ag.flags.is_web'], 'web', str['colonnade.channel'] = 'otlp', 'otlp', 'api'),
    evaluator_id, evaluator_slug,
    multiIf(str['ag.references.evaluator_revision.id'] != '', lower(str['ag.references.evaluator_revision.id']), str['ag.references.evaluator_revision.slug'] != '', str['ag.references.evaluator_revision.slug'], str['ag.references.evaluator_revision.version'] != '', concat(evaluator, '@', str['ag.references.evaluator_revision.version']), ''),
    application_id, application_slug, false
FROM {{whole "spans"}}
WHERE parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000'))
    AND link_count = 0 AND trace_type_declared != 'annotation';
