// Package migrations is the party wall between the wings: the tables both
// sides build on. It embeds the DDL of both stores and applies it, once each,
// in order. Names of tables and columns that Go code needs are in
// migrations/schema; nothing else here is for the wings.
package migrations
