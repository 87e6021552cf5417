-- What tools ask ClickHouse to find their way, for one project: the tables of system and
-- information_schema that clients and BI tools read, with the project's views in them and
-- nothing else. read/sql exchanges the names (guard.ForTools). Texts of the views and what
-- a table holds are left out. Columns are those that are asked for; more can be added.
--
-- `database` is the literal of the name of the project's database, `hidden` the condition
-- that leaves out the views of this file.
CREATE OR REPLACE VIEW {{view "system_databases"}}{{on_cluster}}
{{security}}
AS
SELECT {{database}} AS name, 'Atomic' AS engine, '' AS data_path, '' AS metadata_path, toUUID('00000000-0000-0000-0000-000000000000') AS uuid, 'Atomic' AS engine_full, '' AS comment
COMMENT 'for tools: the database of the project';

CREATE OR REPLACE VIEW {{view "system_tables"}}{{on_cluster}}
{{security}}
AS
SELECT database, name, uuid, engine, is_temporary, [] :: Array(String) AS data_paths, '' AS metadata_path, metadata_modification_time,
    [] :: Array(String) AS dependencies_database, [] :: Array(String) AS dependencies_table, '' AS create_table_query, engine AS engine_full, '' AS as_select,
    '' AS partition_key, '' AS sorting_key, '' AS primary_key, '' AS sampling_key, '' AS storage_policy,
    NULL :: Nullable(UInt64) AS total_rows, NULL :: Nullable(UInt64) AS total_bytes, NULL :: Nullable(UInt64) AS lifetime_rows, NULL :: Nullable(UInt64) AS lifetime_bytes,
    comment, 0 :: UInt8 AS has_own_data
FROM system.tables
WHERE database = {{database}} AND {{hidden "name"}}
COMMENT 'for tools: the views of the project';

CREATE OR REPLACE VIEW {{view "system_columns"}}{{on_cluster}}
{{security}}
AS
SELECT database, table, name, type, position, '' AS default_kind, '' AS default_expression, 0 :: UInt64 AS data_compressed_bytes, 0 :: UInt64 AS data_uncompressed_bytes,
    0 :: UInt64 AS marks_bytes, comment, 0 :: UInt8 AS is_in_partition_key, 0 :: UInt8 AS is_in_sorting_key, 0 :: UInt8 AS is_in_primary_key, 0 :: UInt8 AS is_in_sampling_key,
    '' AS compression_codec, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision
FROM system.columns
WHERE database = {{database}} AND {{hidden "table"}}
COMMENT 'for tools: the columns of the views of the project';

CREATE OR REPLACE VIEW {{view "system_functions"}}{{on_cluster}}
{{security}}
AS
SELECT name, is_aggregate, case_insensitive, alias_to, '' AS create_query, 'System' AS origin, description, syntax, arguments, returned_value, examples, categories
FROM system.functions
COMMENT 'for tools: the functions of ClickHouse';

CREATE OR REPLACE VIEW {{view "system_settings"}}{{on_cluster}}
{{security}}
AS
SELECT name, default AS value, 0 :: UInt8 AS changed, description, NULL :: Nullable(String) AS min, NULL :: Nullable(String) AS max, 0 :: UInt8 AS readonly, type, default, alias_for, is_obsolete, tier
FROM system.settings
COMMENT 'for tools: the settings of ClickHouse; those that choose a form or lower a limit take effect';

CREATE OR REPLACE VIEW {{view "information_schema_schemata"}}{{on_cluster}}
{{security}}
AS
SELECT catalog_name, schema_name, catalog_name AS CATALOG_NAME, schema_name AS SCHEMA_NAME
FROM (SELECT {{database}} AS catalog_name, {{database}} AS schema_name)
COMMENT 'for tools: the database of the project';

CREATE OR REPLACE VIEW {{view "information_schema_tables"}}{{on_cluster}}
{{security}}
AS
SELECT database AS table_catalog, database AS table_schema, name AS table_name, 'VIEW' AS table_type, NULL :: Nullable(UInt64) AS table_rows, comment AS table_comment,
    table_catalog AS TABLE_CATALOG, table_schema AS TABLE_SCHEMA, table_name AS TABLE_NAME, table_type AS TABLE_TYPE, table_rows AS TABLE_ROWS, table_comment AS TABLE_COMMENT
FROM {{view "system_tables"}}
COMMENT 'for tools: the views of the project';

CREATE OR REPLACE VIEW {{view "information_schema_columns"}}{{on_cluster}}
{{security}}
AS
SELECT database AS table_catalog, database AS table_schema, table AS table_name, name AS column_name, position AS ordinal_position, '' AS column_default,
    startsWith(type, 'Nullable') AS is_nullable, type AS data_type, comment AS column_comment, type AS column_type,
    table_catalog AS TABLE_CATALOG, table_schema AS TABLE_SCHEMA, table_name AS TABLE_NAME, column_name AS COLUMN_NAME, ordinal_position AS ORDINAL_POSITION,
    column_default AS COLUMN_DEFAULT, is_nullable AS IS_NULLABLE, data_type AS DATA_TYPE, column_comment AS COLUMN_COMMENT, column_type AS COLUMN_TYPE
FROM {{view "system_columns"}}
COMMENT 'for tools: the columns of the views of the project';
