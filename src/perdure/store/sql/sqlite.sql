-- Every statement of the store in SQLite, with a name and a promise.

-- name: settings -- of every connection: nothing is acknowledged before it is on the disk
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA mmap_size = 0;
PRAGMA cache_size = -8000;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
PRAGMA trusted_schema = OFF;

-- name: use_wal -- gives the journal mode that the file has from now on
PRAGMA journal_mode = WAL;

-- name: settings_read_back -- what the settings are, in the order of their check
PRAGMA journal_mode;
PRAGMA synchronous;
PRAGMA mmap_size;

-- name: identity -- whose file this is, of which generation, and whether anything is in it
SELECT a.application_id, u.user_version, (SELECT count(*) FROM sqlite_schema)
FROM pragma_application_id a, pragma_user_version u;

-- name: claim -- makes the file one of ours
PRAGMA application_id = 1346720324;

-- name: set_meta -- says something of the store, unless it was said before
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: meta -- all that is said of the store
SELECT name, value FROM meta;

-- name: touch -- a write that changes nothing that anybody reads, to see that writing works
INSERT INTO meta (name, value) VALUES ('renewals', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(value + 1 AS TEXT);

-- name: begin -- at most one of these at once; waits for its turn
BEGIN IMMEDIATE;

-- name: begin_reading -- all reads until `commit` see one state
BEGIN;

-- name: commit -- durable when it returns
COMMIT;

-- name: rollback -- as if nothing had been
ROLLBACK;

-- name: data_version -- another number after any other connection has committed
PRAGMA data_version;

-- name: insert_run -- gives its number; nothing if that or its id is taken, or its parent is none
INSERT INTO runs (rid, id, workflow, program, input_digest, created, wake_at, status, parent,
                  parent_call, attrs)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE ?9 IS NULL OR EXISTS (SELECT 1 FROM runs WHERE rid = ?9)
ON CONFLICT DO NOTHING
RETURNING rid;

-- name: insert_fact -- a number that the run has already is an error: somebody else wrote
INSERT INTO facts (rid, seq, crc, body, key, image) VALUES (?, ?, ?, ?, ?, ?);

-- name: change_run -- a program that is null stays
UPDATE runs SET status = ?2, wake_at = ?3, program = coalesce(?4, program), ended = ?5,
                result = ?6, pruned = 0
WHERE rid = ?1;

-- name: consume -- a message that is gone already is no matter
DELETE FROM inbox WHERE n = ?;

-- name: insert_message -- nothing if its key waits here, or was folded
INSERT INTO inbox (rid, kind, body, key)
SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM facts WHERE rid = ?1 AND key = ?4)
ON CONFLICT DO NOTHING;

-- name: insert_program -- a text that is known stays when none is given
INSERT INTO programs (hash, name, text, mac) VALUES (?, ?, ?, ?)
ON CONFLICT (hash) DO UPDATE SET
  name = excluded.name,
  mac = CASE WHEN excluded.text IS NULL THEN mac ELSE excluded.mac END,
  text = coalesce(excluded.text, text);

-- name: program -- one program by its hash
SELECT hash, name, text, mac FROM programs WHERE hash = ?;

-- name: programs -- all programs by name and hash, with how many runs are on each
SELECT p.hash, p.name, coalesce(used.runs, 0)
FROM programs p LEFT JOIN (SELECT program, count(*) AS runs FROM runs GROUP BY program) used
  ON used.program = p.hash
ORDER BY p.name, p.hash;

-- name: heads -- the number of the last fact of each run, 0 where there is none
SELECT w.value, coalesce((SELECT max(seq) FROM facts WHERE rid = w.value), 0)
FROM json_each(?) w;

-- name: run -- the row of one run
SELECT rid, id, workflow, program, status, wake_at, created, ended, input_digest, parent,
       parent_call, attrs, result, coalesce((SELECT max(seq) FROM facts f WHERE f.rid = r.rid), 0)
FROM runs r WHERE rid = ?;

-- name: run_by_id -- the row of one run, by the id of the user
SELECT rid, id, workflow, program, status, wake_at, created, ended, input_digest, parent,
       parent_call, attrs, result, coalesce((SELECT max(seq) FROM facts f WHERE f.rid = r.rid), 0)
FROM runs r WHERE id = ?;

-- name: tail -- the newest image of a run and all after it, or all there is
SELECT rid, seq, crc, body, key, image FROM facts
WHERE rid = ?1 AND seq >= coalesce(
  (SELECT seq FROM facts WHERE rid = ?1 AND image IS NOT NULL ORDER BY seq DESC LIMIT 1), 0)
ORDER BY seq;

-- name: facts -- the facts of a run in order, after a number
SELECT rid, seq, crc, body, key, image FROM facts WHERE rid = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: facts_without_images -- the same, and what images weigh is not read
SELECT rid, seq, crc, body, key, NULL FROM facts WHERE rid = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: due -- open runs by the time when to look at them, after a place in that order
SELECT wake_at, rid FROM runs
WHERE status <= 1 AND (wake_at, rid) > (?, ?) AND wake_at <= ?
ORDER BY wake_at, rid LIMIT ?;

-- name: inbox -- the oldest messages; they stay
SELECT rid, kind, body, key, n FROM inbox ORDER BY n LIMIT ?;

-- name: list -- runs that a query asks for, newest first
SELECT rid, id, workflow, program, status, wake_at, created, ended, input_digest, parent,
       parent_call, attrs, result, coalesce((SELECT max(seq) FROM facts f WHERE f.rid = r.rid), 0)
FROM runs r
WHERE rid < :before
  AND (:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:since IS NULL OR created >= :since)
  AND (:until IS NULL OR created < :until)
  AND NOT EXISTS (SELECT 1 FROM json_each(:attrs) w WHERE NOT EXISTS (
        SELECT 1 FROM json_each(r.attrs) a WHERE a.key = w.key AND a.atom = w.atom))
ORDER BY rid DESC LIMIT :limit;

-- name: list_of_status -- the same for one status, by its index
SELECT rid, id, workflow, program, status, wake_at, created, ended, input_digest, parent,
       parent_call, attrs, result, coalesce((SELECT max(seq) FROM facts f WHERE f.rid = r.rid), 0)
FROM runs r INDEXED BY runs_listed
WHERE status = :status AND rid < :before
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:since IS NULL OR created >= :since)
  AND (:until IS NULL OR created < :until)
  AND NOT EXISTS (SELECT 1 FROM json_each(:attrs) w WHERE NOT EXISTS (
        SELECT 1 FROM json_each(r.attrs) a WHERE a.key = w.key AND a.atom = w.atom))
ORDER BY rid DESC LIMIT :limit;

-- name: list_of_parent -- the same for the children of one run, by their index
SELECT rid, id, workflow, program, status, wake_at, created, ended, input_digest, parent,
       parent_call, attrs, result, coalesce((SELECT max(seq) FROM facts f WHERE f.rid = r.rid), 0)
FROM runs r INDEXED BY runs_of_parent
WHERE parent = :parent AND rid < :before
  AND (:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:workflow IS NULL OR workflow = :workflow)
  AND (:since IS NULL OR created >= :since)
  AND (:until IS NULL OR created < :until)
  AND NOT EXISTS (SELECT 1 FROM json_each(:attrs) w WHERE NOT EXISTS (
        SELECT 1 FROM json_each(r.attrs) a WHERE a.key = w.key AND a.atom = w.atom))
ORDER BY rid DESC LIMIT :limit;

-- name: to_prune -- runs that ended before a time and have facts, those that ended first
SELECT rid FROM runs
WHERE ended IS NOT NULL AND pruned = 0 AND ended < ? AND status > 1
  AND EXISTS (SELECT 1 FROM facts WHERE facts.rid = runs.rid)
ORDER BY ended, rid LIMIT ?;

-- name: delete_facts -- all facts of one run
DELETE FROM facts WHERE rid = ?;

-- name: mark_pruned -- so that nobody looks at the run for its facts again
UPDATE runs SET pruned = 1 WHERE rid = ?;

-- name: count_runs -- how many runs have each status
SELECT status, count(*) FROM runs GROUP BY status ORDER BY status;

-- name: counts -- facts as a guess that costs nothing, messages and programs counted
SELECT (SELECT coalesce(max(rowid), 0) FROM facts), (SELECT count(*) FROM inbox),
       (SELECT count(*) FROM programs);

-- name: space -- pages, free pages, bytes in a page
SELECT c.page_count, f.freelist_count, s.page_size
FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s;

-- name: integrity -- the word ok, or what is wrong with the file, at most twenty lines
PRAGMA integrity_check(20);

-- name: gaps -- runs whose facts are not numbered one after the other
SELECT rid, count(*), min(seq), max(seq) FROM facts
GROUP BY rid HAVING max(seq) - min(seq) + 1 <> count(*) LIMIT 20;

-- name: strays -- runs that have facts and no row
SELECT DISTINCT rid FROM facts WHERE rid NOT IN (SELECT rid FROM runs) LIMIT 20;

-- name: all_facts -- every fact with its checksum, as they lie
SELECT rid, seq, crc, body FROM facts;
