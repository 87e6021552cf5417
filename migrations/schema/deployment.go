package schema

import "strings"

// Deployment says on what kind of ClickHouse the tables stand. The zero value
// is one node. Queries and inserts are the same text on all of them; only DDL
// and deletes differ. Source: design §4, embedded.md (d).
type Deployment struct {
	// Database qualifies the tables; empty means that of the connection.
	Database string
	// Cluster names the cluster of ON CLUSTER and of the Distributed tables;
	// empty means that there is none.
	Cluster string
	// Replicated takes the Replicated engines. Their paths use the servers'
	// macros {shard} and {replica}.
	Replicated bool
	// DeduplicationWindow is the number of inserted blocks that each table
	// remembers by their tokens; 0 means DefaultDeduplicationWindow.
	DeduplicationWindow int
}

// DefaultDeduplicationWindow covers about half an hour of a busy sink. A
// replay that comes later finds its rows by their versions (write/sink).
const DefaultDeduplicationWindow = 10_000

// Table is a table's quoted name as queries and inserts use it: on a cluster
// the Distributed one.
func (d Deployment) Table(name string) string {
	if d.Database == "" {
		return Quote(name)
	}
	return Quote(d.Database) + "." + Quote(name)
}

// Local is the quoted name of the table that holds rows on each node; DELETE
// and ALTER address it.
func (d Deployment) Local(name string) string {
	if d.Cluster != "" {
		name += "_local"
	}
	return d.Table(name)
}

// OnCluster is the clause that makes a statement run on every node, with a
// blank before it; empty on one node.
func (d Deployment) OnCluster() string {
	if d.Cluster == "" {
		return ""
	}
	return " ON CLUSTER " + Quote(d.Cluster)
}

// Quote makes a name an identifier.
func Quote(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
