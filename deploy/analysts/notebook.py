"""What a notebook does: a data frame through clickhouse-connect, and Parquet through curl that DuckDB opens.

Prints a JSON object. The arguments are host, port, API key and the address of the API.
"""

import json
import subprocess
import sys
import tempfile

import clickhouse_connect
import duckdb
import pandas

host, port, key, api = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]

client = clickhouse_connect.get_client(host=host, port=port, password=key)
frame = client.query_df("SELECT * FROM traces WHERE trace_type = 'invocation' ORDER BY start_time")
costs = client.query_df("SELECT model, sum(cost) AS cost FROM spans WHERE model != '' GROUP BY model ORDER BY model")
one = client.query("SELECT count() FROM spans WHERE span_type = {type:String}", parameters={"type": "tool"}).first_row[0]
refused = False
try:
    client.query("SELECT * FROM system.query_log")
except clickhouse_connect.driver.exceptions.DatabaseError as e:
    refused = "497" in str(e)

with tempfile.TemporaryDirectory() as folder:
    path = folder + "/traces.parquet"
    subprocess.run(
        ["curl", "-sSf", api + "/sql/query", "-H", "Authorization: ApiKey " + key, "-H", "Content-Type: application/json", "-o", path,
         "-d", json.dumps({"query": "SELECT * FROM traces WHERE trace_type = 'invocation'", "format": "parquet"})],
        check=True,
    )
    parquet = duckdb.sql("SELECT count(*), sum(cost), count(DISTINCT session_id) FROM read_parquet('" + path + "')").fetchall()[0]

print(json.dumps({
    "traces": len(frame),
    "columns": list(frame.columns),
    "start_is_time": pandas.api.types.is_datetime64_any_dtype(frame["start_time"]),
    "cost": float(frame["cost"].sum()),
    "models": {m: c for m, c in zip(costs["model"], costs["cost"])},
    "tools": one,
    "tables": sorted(r[0] for r in client.query("SHOW TABLES").result_rows),
    "refused": refused,
    "parquet": list(parquet),
}))
