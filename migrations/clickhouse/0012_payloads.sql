-- What 0011 has copied. By itself, because a file that stopped in the middle
-- runs again whole.
DROP TABLE IF EXISTS {{table "span_payloads_before"}}{{on_cluster}} SYNC;
DROP TABLE IF EXISTS {{whole "span_payloads_before"}}{{on_cluster}} SYNC;
DROP TABLE IF EXISTS {{whole "span_payloads"}}{{on_cluster}} SYNC;
