-- Generation 1 of a store in SQLite. Times are microseconds since 1970.
--
--   meta      what the store is: its id, its environment, when it was made
--   programs  the programs that runs were started on
--   runs      one row for each run: who it is, how it stands, when to look at it again
--   facts     the log: one row for each fact; `body` holds number, time, kind and digest as well
--   inbox     messages from outside that no run has folded yet
--
-- `facts` is a table with row ids and a unique index: rows are appended wherever the runs are, and
-- a long body stays out of the index.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;

CREATE TABLE programs (
  hash TEXT PRIMARY KEY, name TEXT NOT NULL, text BLOB, mac BLOB NOT NULL
) STRICT;

CREATE TABLE runs (
  rid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, workflow TEXT NOT NULL, program TEXT NOT NULL,
  status INTEGER NOT NULL, wake_at INTEGER NOT NULL, created INTEGER NOT NULL, ended INTEGER,
  input_digest BLOB NOT NULL, parent INTEGER, parent_call INTEGER, attrs TEXT NOT NULL, result BLOB,
  pruned INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_due ON runs (wake_at, rid) WHERE status <= 1;
CREATE INDEX runs_listed ON runs (status, rid);
CREATE INDEX runs_of_parent ON runs (parent, rid) WHERE parent IS NOT NULL;
CREATE INDEX runs_to_prune ON runs (ended, rid) WHERE ended IS NOT NULL AND pruned = 0;

CREATE TABLE facts (
  rid INTEGER NOT NULL, seq INTEGER NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL,
  key TEXT, image BLOB
) STRICT;
CREATE UNIQUE INDEX facts_in_order ON facts (rid, seq);
CREATE INDEX facts_by_key ON facts (rid, key) WHERE key IS NOT NULL;

CREATE TABLE inbox (
  n INTEGER PRIMARY KEY AUTOINCREMENT, rid INTEGER NOT NULL, kind TEXT NOT NULL,
  body BLOB NOT NULL, key TEXT
) STRICT;
CREATE UNIQUE INDEX inbox_by_key ON inbox (rid, key) WHERE key IS NOT NULL;

PRAGMA user_version = 1;
