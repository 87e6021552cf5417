package sql

import (
	"encoding/json"
	"io"

	"colonnade/domain"
)

// jsonFormat is the format of ClickHouse that Columns reads.
const jsonFormat = "JSONCompact"

// Columns is a result by columns.
type Columns struct {
	QueryID string   `json:"query_id"`
	Columns []Column `json:"columns"`
	// Data has an array for each column.
	Data [][]json.RawMessage `json:"data"`
	Rows int                 `json:"rows"`
	// Cut reports that the statement has more rows than the reply.
	Cut        bool       `json:"cut"`
	Statistics Statistics `json:"statistics"`
}

// Column is the name and the ClickHouse type of a column.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Statistics are what the statement took.
type Statistics struct {
	Milliseconds float64 `json:"ms"`
	RowsRead     uint64  `json:"rows_read"`
	BytesRead    uint64  `json:"bytes_read"`
}

// maxJSONBytes bounds a reply in JSON, which is held in memory.
const maxJSONBytes = 32 << 20

// readColumns reads a result in jsonFormat and cuts it to maxRows rows.
func readColumns(body io.Reader, id string, maxRows int) (Columns, error) {
	text, err := io.ReadAll(io.LimitReader(body, maxJSONBytes+1))
	if err != nil {
		return Columns{}, domain.Wrap(domain.Unavailable, err, "ClickHouse did not reply.")
	}
	if len(text) > maxJSONBytes {
		return Columns{}, domain.E(domain.Rejected, "The result is larger than %d MiB: name fewer columns, add a LIMIT, or ask for a file (ndjson, csv, tsv, parquet, arrow).", maxJSONBytes>>20)
	}
	var in struct {
		Meta       []Column            `json:"meta"`
		Data       [][]json.RawMessage `json:"data"`
		Statistics struct {
			Elapsed   float64 `json:"elapsed"`
			RowsRead  uint64  `json:"rows_read"`
			BytesRead uint64  `json:"bytes_read"`
		} `json:"statistics"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return Columns{}, domain.Wrap(domain.Internal, err, "ClickHouse's reply is malformed.")
	}
	out := Columns{
		QueryID: id, Columns: in.Meta, Data: make([][]json.RawMessage, len(in.Meta)), Rows: min(len(in.Data), maxRows), Cut: len(in.Data) > maxRows,
		Statistics: Statistics{in.Statistics.Elapsed * 1000, in.Statistics.RowsRead, in.Statistics.BytesRead},
	}
	for i := range out.Data {
		out.Data[i] = make([]json.RawMessage, out.Rows)
		for row := range out.Rows {
			out.Data[i][row] = in.Data[row][i]
		}
	}
	return out, nil
}
