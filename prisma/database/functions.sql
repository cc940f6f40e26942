-- Functions that the migrations created, in their current form. A test compares this file with a migrated database.
-- To change one, write a migration.

CREATE OR REPLACE FUNCTION public.actor_anchor(actor text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT CASE WHEN actor LIKE 'user:%' THEN 'account:' || substr(actor, 6) ELSE 'agent:' || actor END
$function$;

-- app: it writes what the application may write.
CREATE OR REPLACE FUNCTION public.add_words(batch text[], seen integer)
 RETURNS text[]
 LANGUAGE sql
 SET search_path TO 'public', 'pg_temp'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  WITH of_units AS MATERIALIZED (
      SELECT id, scope, agent_id, quarantined_at, search FROM units WHERE id = ANY (batch) FOR SHARE SKIP LOCKED),
    of_skills AS MATERIALIZED (
      SELECT id, scope, agent_id, quarantined_at, search FROM skills WHERE id = ANY (batch) FOR SHARE SKIP LOCKED),
    fresh AS MATERIALIZED (
      SELECT id, words_scope(scope, agent_id, quarantined_at) AS scope, search
      FROM (SELECT * FROM of_units UNION ALL SELECT * FROM of_skills) AS locked),
    words AS MATERIALIZED (
      SELECT scope, word, count(*)::int AS n, min(id) AS bearer FROM fresh CROSS JOIN LATERAL kept_words(search) AS k(word) GROUP BY scope, word),
    added AS (
      INSERT INTO search_words (scope, word, units, bearer)
      -- What many of a sample have, as many of all have.
      SELECT w.scope, w.word, CASE WHEN seen > 0 AND n >= 10 THEN n * greatest(1, (
          SELECT r.units FROM search_words r WHERE r.scope = w.scope AND r.word = '') / seen) ELSE n END, bearer
      FROM words w WHERE seen IS NULL OR NOT EXISTS (SELECT FROM search_words h WHERE h.scope = w.scope AND h.word = w.word)
      UNION ALL SELECT scope, '', count(*)::int, NULL FROM fresh WHERE seen IS NULL GROUP BY scope
      ORDER BY 1, 2
      ON CONFLICT (scope, word) DO UPDATE SET units = search_words.units + excluded.units)
  SELECT coalesce(array_agg(id), '{}') FROM fresh
$function$;

-- app
CREATE OR REPLACE FUNCTION public.audit_ensure_partitions(ahead integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  today constant date := (now() AT TIME ZONE 'UTC')::date;
  day date;
  name text;
  made int := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('audit_partitions'));
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR i IN 0..least(greatest(ahead, 0), 31) LOOP
    day := today + i;
    name := 'audit_entries_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(quote_ident(name)) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I (LIKE audit_entries INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
    EXECUTE format('WITH moved AS (DELETE FROM audit_entries_default WHERE at >= %L AND at < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
      day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00', name);
    EXECUTE format('ALTER TABLE audit_entries ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    made := made + 1;
  END LOOP;
  RETURN made;
END $function$;

-- app
CREATE OR REPLACE FUNCTION public.audit_purge(older_than timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  oldest constant timestamptz := least(older_than, now() - interval '90 days');
  part record;
  upto timestamptz;
  gone int;
  removed int := 0;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('audit_partitions')) THEN
    RETURN 0;
  END IF;
  -- The drop waits for whoever reads; nobody who writes waits long behind it. It is tried again.
  PERFORM set_config('lock_timeout', '200ms', true);
  FOR part IN
    SELECT c.relname AS name, c.oid::regclass AS id
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'audit_entries'::regclass AND c.relname ~ '^audit_entries_[0-9]{8}$'
       AND to_date(right(c.relname, 8), 'YYYYMMDD') <= (oldest AT TIME ZONE 'UTC')::date
  LOOP
    upto := ((to_date(right(part.name, 8), 'YYYYMMDD') + 1)::text || ' 00:00:00+00')::timestamptz;
    IF upto <= oldest THEN
      EXECUTE format('DROP TABLE %s', part.id);
      removed := removed + 1;
    END IF;
  END LOOP;
  DELETE FROM audit_entries WHERE at < oldest;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN removed + gone;
END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0) FROM (SELECT NEW.*) t) - (SELECT coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_attachments()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT t.bytes FROM (SELECT NEW.*) t) - (SELECT t.bytes FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (project_id, bytes, rows) SELECT p.project_id, change, 0 FROM (SELECT NEW.*) t  JOIN messages p ON p.id = t.message_id;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT t.bytes FROM (SELECT NEW.*) t) - (SELECT t.bytes FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (project_id, bytes, rows) SELECT t.project_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_grimoire_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT coalesce(octet_length(t.envelope::text), 0) + coalesce(octet_length(t.sealed), 0) FROM (SELECT NEW.*) t) - (SELECT coalesce(octet_length(t.envelope::text), 0) + coalesce(octet_length(t.sealed), 0) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT octet_length(t.content) FROM (SELECT NEW.*) t) - (SELECT octet_length(t.content) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (project_id, bytes, rows) SELECT t.project_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_skill_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT t.size FROM (SELECT NEW.*) t) - (SELECT t.size FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT p.agent_id, change, 0 FROM (SELECT NEW.*) t  JOIN skills p ON p.id = t.skill_id;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_skills()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT octet_length(t.document) FROM (SELECT NEW.*) t) - (SELECT octet_length(t.document) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_snapshots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT coalesce(t.bytes, 0) FROM (SELECT NEW.*) t) - (SELECT coalesce(t.bytes, 0) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_sop_versions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT octet_length(t.document::text) FROM (SELECT NEW.*) t) - (SELECT octet_length(t.document::text) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT p.agent_id, change, 0 FROM (SELECT NEW.*) t  JOIN units p ON p.id = t.unit_id;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_state_bundles()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT t.bytes FROM (SELECT NEW.*) t) - (SELECT t.bytes FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_changed_units()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT octet_length(t.document::text) FROM (SELECT NEW.*) t) - (SELECT octet_length(t.document::text) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_children_of_message()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_counts (project_id, bytes, rows)
    SELECT p.id, -sum(c.bytes), -count(*) FROM (
        SELECT octet_length(content) AS bytes FROM message_edits WHERE message_id = OLD.id
        UNION ALL SELECT bytes FROM attachments WHERE message_id = OLD.id) c
      JOIN projects p ON p.id = OLD.project_id GROUP BY 1;
  RETURN OLD;
END $function$;

CREATE OR REPLACE FUNCTION public.count_children_of_skill()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_counts (agent_id, bytes, rows)
    SELECT a.id, -sum(f.size), -count(*) FROM skill_files f JOIN agents a ON a.id = OLD.agent_id WHERE f.skill_id = OLD.id GROUP BY 1;
  RETURN OLD;
END $function$;

CREATE OR REPLACE FUNCTION public.count_children_of_unit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_counts (agent_id, bytes, rows)
    SELECT a.id, -sum(octet_length(v.document::text)), -count(*) FROM sop_versions v JOIN agents a ON a.id = OLD.agent_id
    WHERE v.unit_id = OLD.id GROUP BY 1;
  RETURN OLD;
END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_attachments()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(t.bytes), -1 * count(*) FROM gone t  JOIN messages p ON p.id = t.message_id JOIN projects h ON h.id = p.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_chain_references()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(200), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_conversations()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(200 + octet_length(t.title)), -1 * count(*) FROM gone t  JOIN projects h ON h.id = t.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(t.bytes), -1 * count(*) FROM gone t  JOIN projects h ON h.id = t.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_grimoire_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(coalesce(octet_length(t.envelope::text), 0) + coalesce(octet_length(t.sealed), 0)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_heartbeats()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(100 + octet_length(t.counts::text)), -0 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_llm_log_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.sealed)), -0 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_message_edits()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.content)), -1 * count(*) FROM gone t  JOIN messages p ON p.id = t.message_id JOIN projects h ON h.id = p.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.content)), -1 * count(*) FROM gone t  JOIN projects h ON h.id = t.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_project_participants()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(200), -1 * count(*) FROM gone t  JOIN projects h ON h.id = t.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_provenance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT h.id, -sum(100 + octet_length(t.ref)), -0 * count(*) FROM gone t  JOIN projects h ON h.id = t.project_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_skill_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(t.size), -1 * count(*) FROM gone t  JOIN skills p ON p.id = t.skill_id JOIN agents h ON h.id = p.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_skills()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.document)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_snapshots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(coalesce(t.bytes, 0)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_sop_versions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.document::text)), -1 * count(*) FROM gone t  JOIN units p ON p.id = t.unit_id JOIN agents h ON h.id = p.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_state_bundles()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(t.bytes), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_units()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(octet_length(t.document::text)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_attachments()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT p.project_id, sum(t.bytes), 1 * count(*) FROM fresh t  JOIN messages p ON p.id = t.message_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_chain_references()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(200), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_conversations()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT t.project_id, sum(200 + octet_length(t.title)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT t.project_id, sum(t.bytes), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_grimoire_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(coalesce(octet_length(t.envelope::text), 0) + coalesce(octet_length(t.sealed), 0)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_heartbeats()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(100 + octet_length(t.counts::text)), 0 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_llm_log_entries()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(octet_length(t.sealed)), 0 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_message_edits()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT p.project_id, sum(octet_length(t.content)), 1 * count(*) FROM fresh t  JOIN messages p ON p.id = t.message_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_messages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT t.project_id, sum(octet_length(t.content)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_project_participants()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT t.project_id, sum(200), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_provenance()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (project_id, bytes, rows)
          SELECT t.project_id, sum(100 + octet_length(t.ref)), 0 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_skill_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT p.agent_id, sum(t.size), 1 * count(*) FROM fresh t  JOIN skills p ON p.id = t.skill_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_skills()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(octet_length(t.document)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_snapshots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(coalesce(t.bytes, 0)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_sop_versions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT p.agent_id, sum(octet_length(t.document::text)), 1 * count(*) FROM fresh t  JOIN units p ON p.id = t.unit_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_state_bundles()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(t.bytes), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_units()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(octet_length(t.document::text)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

-- app
CREATE OR REPLACE FUNCTION public.deletion_log_purge()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  gone int;
BEGIN
  DELETE FROM deletion_audit_log WHERE "timestamp" < now() - interval '7 years';
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $function$;

-- app: it writes what the application may write.
CREATE OR REPLACE FUNCTION public.find_words_again(after text, most integer)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '300ms'
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
DECLARE
  looked text[];
  missing text[];
BEGIN
  looked := ARRAY(SELECT id FROM (
    (SELECT id FROM units WHERE id > after ORDER BY id LIMIT most) UNION ALL (SELECT id FROM skills WHERE id > after ORDER BY id LIMIT most)) AS both_of
    ORDER BY id LIMIT most);
  missing := ARRAY(
    WITH rows AS MATERIALIZED (
        SELECT id, words_scope(scope, agent_id, quarantined_at) AS scope, search FROM (
          SELECT id, scope, agent_id, quarantined_at, search FROM units WHERE id = ANY (looked)
          UNION ALL SELECT id, scope, agent_id, quarantined_at, search FROM skills WHERE id = ANY (looked)) AS both_of),
      words AS MATERIALIZED (SELECT scope, word, array_agg(id) AS bearers FROM rows CROSS JOIN LATERAL kept_words(search) AS k(word) GROUP BY scope, word)
    SELECT DISTINCT id FROM words o CROSS JOIN LATERAL unnest(bearers) AS b(id)
    WHERE NOT EXISTS (SELECT FROM search_words w WHERE w.scope = o.scope AND w.word = o.word)
      AND NOT EXISTS (SELECT FROM search_news n WHERE n.id = b.id));
  IF cardinality(missing) > 0 THEN
    PERFORM add_words(missing, cardinality(looked));
  END IF;
  RETURN looked[most];
EXCEPTION WHEN lock_not_available THEN
  RETURN looked[most];
END $function$;

CREATE OR REPLACE FUNCTION public.forget_former_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM forget_words(ARRAY[NEW.id]);
  INSERT INTO search_news (id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.forget_gone_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM forget_words(ARRAY(SELECT id FROM gone));
  RETURN NULL;
END $function$;

-- app: it deletes what the application may delete.
CREATE OR REPLACE FUNCTION public.forget_words(gone text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
BEGIN
  DELETE FROM search_news WHERE id = ANY (gone);
  DELETE FROM search_words WHERE bearer = ANY (gone);
END $function$;

-- app: it writes what the application may write.
CREATE OR REPLACE FUNCTION public.gather_words(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '300ms'
AS $function$
DECLARE
  batch text[];
  taken text[];
  settled integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('search_words', 0)) THEN
    RETURN 0;
  END IF;
  batch := ARRAY(SELECT id FROM search_news ORDER BY id LIMIT most);
  taken := add_words(batch, NULL);
  DELETE FROM search_news n WHERE n.id = ANY (batch) AND (n.id = ANY (taken)
    OR NOT EXISTS (SELECT FROM units u WHERE u.id = n.id) AND NOT EXISTS (SELECT FROM skills k WHERE k.id = n.id));
  GET DIAGNOSTICS settled = ROW_COUNT;
  RETURN settled;
EXCEPTION WHEN lock_not_available THEN
  RETURN 0;
END $function$;

-- app: texts of the graph are indexed by it
CREATE OR REPLACE FUNCTION public.graph_pairs(said text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT coalesce(array_agg(DISTINCT p.pair), '{}') FROM (
    SELECT t.c, lead(t.c) OVER (ORDER BY t.n) AS d FROM unnest(string_to_array(translate(lower(said),
      U&'\03C2\017F\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF', U&'\03C3s' || repeat(' ', 19)), NULL))
      WITH ORDINALITY AS t (c, n)) AS s,
    LATERAL (VALUES (s.c), (CASE WHEN octet_length(s.d) > 1 THEN s.c || s.d END)) AS p (pair)
  WHERE octet_length(s.c) > 1 AND p.pair IS NOT NULL
$function$;

-- app: texts of the graph are indexed by it
CREATE OR REPLACE FUNCTION public.graph_words(group_id text, said text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (array_append(array_remove(string_to_array(regexp_replace(lower(said), '([a-z0-9]{64})|[^a-z0-9]+'::text, ' \1 '::text, 'g'::text), ' '::text), ''::text), ('/'::text || group_id)) || CASE WHEN (octet_length(said) > length(said)) THEN graph_pairs(said) ELSE '{}'::text[] END);

CREATE OR REPLACE FUNCTION public.hold_anchors(table_name text, r jsonb)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  parent_table text;
  parent text;
  parent_row jsonb;
  found text[];
BEGIN
  CASE table_name
    -- A hold on an agent also covers the units of others that are attributed to the agent.
    WHEN 'units' THEN
      RETURN array_remove(ARRAY['agent:' || (r->>'agent_id'), 'unit:' || (r->>'id'), 'agent:' || (r->>'attributed_to'),
        'agent:' || (r->>'original_author')], NULL);
    WHEN 'skills' THEN RETURN ARRAY['agent:' || (r->>'agent_id'), 'skill:' || (r->>'id')];
    WHEN 'unit_votes' THEN RETURN ARRAY['agent:' || (r->>'voter_id')];
    WHEN 'unit_reports' THEN RETURN ARRAY['agent:' || (r->>'reporter_id')];
    WHEN 'agents' THEN RETURN ARRAY['agent:' || (r->>'id')];
    WHEN 'accounts' THEN RETURN ARRAY['account:' || (r->>'id')];
    WHEN 'account_identities', 'email_choices', 'saved_searches' THEN RETURN ARRAY['account:' || (r->>'account_id')];
    WHEN 'agent_documents', 'chain_references', 'clade_shares', 'grimoire_entries', 'heartbeats', 'llm_log_entries', 'performance_cards'
      THEN RETURN ARRAY['agent:' || (r->>'agent_id')];
    WHEN 'projects' THEN RETURN ARRAY[actor_anchor(r->>'created_by'), 'project:' || (r->>'id')];
    WHEN 'project_members' THEN
      RETURN ARRAY[(r->>'kind') || ':' || (r->>'member_id'), 'project:' || (r->>'project_id')];
    WHEN 'project_participants' THEN
      RETURN ARRAY['participant:' || (r->>'id'), 'project:' || (r->>'project_id')]
        || CASE WHEN r->>'account_id' IS NULL THEN '{}'::text[] ELSE ARRAY['account:' || (r->>'account_id')] END;
    WHEN 'conversations' THEN
      RETURN ARRAY[actor_anchor(r->>'created_by'), 'project:' || (r->>'project_id'), 'conversation:' || (r->>'id')];
    WHEN 'messages' THEN
      RETURN ARRAY[(r->>'author_kind') || ':' || (r->>'author_id'), 'project:' || (r->>'project_id'),
        'conversation:' || (r->>'conversation_id'), 'message:' || (r->>'id')];
    WHEN 'documents' THEN
      RETURN ARRAY[(r->>'author_kind') || ':' || (r->>'author_id'), 'project:' || (r->>'project_id'), 'document:' || (r->>'id')];
    WHEN 'skill_files' THEN parent_table := 'skills'; parent := r->>'skill_id';
    WHEN 'sop_versions' THEN parent_table := 'units'; parent := r->>'unit_id';
    WHEN 'message_edits', 'attachments' THEN parent_table := 'messages'; parent := r->>'message_id';
    WHEN 'document_chunks' THEN parent_table := 'documents'; parent := r->>'document_id';
  END CASE;
  EXECUTE format('SELECT to_jsonb(p) FROM %I p WHERE p.id = $1', parent_table) INTO parent_row USING parent;
  IF parent_row IS NOT NULL THEN
    RETURN hold_anchors(parent_table, parent_row);
  END IF;
  SELECT v.anchors INTO found FROM held_versions v WHERE v.anchors @> ARRAY[rtrim(parent_table, 's') || ':' || parent] AND v.table_name = parent_table
    ORDER BY v.at DESC, v.id DESC LIMIT 1;
  RETURN coalesce(found, ARRAY[rtrim(parent_table, 's') || ':' || parent]);
END $function$;

-- app: finds the legal hold that covers a record
CREATE OR REPLACE FUNCTION public.hold_on(on_anchors text[], at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT min(h.id) FROM legal_holds h
  WHERE h.released_at IS NULL AND (at IS NULL OR h.expires_at IS NULL OR h.expires_at > at)
    AND (h.kind || ':' || h.target_id = ANY(on_anchors)
      OR (h.kind = 'account' AND (
        EXISTS (SELECT FROM agents a WHERE a.owner_id = h.target_id AND 'agent:' || a.id = ANY(on_anchors))
        OR EXISTS (SELECT FROM project_participants p WHERE p.account_id = h.target_id AND 'participant:' || p.id = ANY(on_anchors)))))
$function$;

-- app: erasures are verified by it, and stored answers indexed
CREATE OR REPLACE FUNCTION public.ids_in_answer(body jsonb, headers jsonb)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT ARRAY(SELECT DISTINCT 'kp:' || substring(piece FROM '^(?:trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}')
    FROM unnest(string_to_array(coalesce(body::text, '') || headers::text, 'kp:')) AS piece
    WHERE piece ~ '^(?:trace|pattern|sop|skill):[A-Za-z0-9_-]')
$function$;

CREATE OR REPLACE FUNCTION public.judge_again()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.novelty := NULL;
  RETURN NEW;
END $function$;

-- app: it reads what it is given.
CREATE OR REPLACE FUNCTION public.kept_words(search tsvector)
 RETURNS SETOF text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT lexeme FROM unnest(search) WHERE char_length(lexeme) <= 32 AND lexeme ~ '^[^0-9]*[0-9]{0,4}$' ORDER BY positions[1], lexeme LIMIT 1000
$function$;

CREATE OR REPLACE FUNCTION public.note_name_since()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.name_since := NEW.created_at;
  ELSIF NEW.name IS DISTINCT FROM OLD.name OR NEW.email IS DISTINCT FROM OLD.email THEN
    NEW.name_since := greatest(NEW.updated_at, OLD.name_since);
  ELSE
    NEW.name_since := OLD.name_since;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION public.note_words()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO search_news (id) SELECT id FROM inserted ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.preserve_held_version()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  unstored text[] := TG_ARGV[0]::text[];
  uncompared text[] := TG_ARGV[1]::text[];
  before jsonb;
  after jsonb;
  anchors text[];
  owner text;
BEGIN
  -- A hold that is being placed waits for this change, or this change waits for the hold. Thus every version that existed when the hold
  -- was placed is preserved.
  PERFORM pg_advisory_xact_lock_shared(hashtext('held_versions'));
  IF NOT EXISTS (SELECT FROM legal_holds h WHERE h.released_at IS NULL) THEN
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  before := to_jsonb(OLD) - unstored;
  IF TG_OP = 'UPDATE' THEN
    after := to_jsonb(NEW);
    IF before - uncompared = after - unstored - uncompared THEN
      RETURN NEW;
    END IF;
  END IF;
  anchors := hold_anchors(TG_TABLE_NAME, before);
  -- A transaction that checks holds at a time sets it, and thus preserves nothing for a hold that has ended then. Every other transaction
  -- preserves for each hold that is not released: a job deletes what no hold covers.
  IF hold_on(anchors, nullif(current_setting('kp.holds_at', true), '')::timestamptz) IS NOT NULL THEN
    owner := anchors[1];
    -- The owner of an agent and the account of a participant, who may no longer be found through these rows later.
    -- The first anchor stays the first: it is the owner of the versions of files, chunks and edits, which take the anchors of their record.
    anchors := anchors || ARRAY(SELECT more.a FROM (
      SELECT 'account:' || g.owner_id AS a FROM agents g WHERE g.owner_id IS NOT NULL AND g.id = ANY(SELECT substr(x, 7) FROM unnest(anchors) x WHERE x LIKE 'agent:%')
      UNION SELECT 'account:' || p.account_id FROM project_participants p
        WHERE p.account_id IS NOT NULL AND p.id = ANY(SELECT substr(x, 13) FROM unnest(anchors) x WHERE x LIKE 'participant:%')) more
      WHERE NOT more.a = ANY(array_remove(anchors, NULL)));
    INSERT INTO held_versions (id, table_name, content, anchors, agent_id, account_id, participant_id, at)
      VALUES ('hver_' || replace(gen_random_uuid()::text, '-', ''), TG_TABLE_NAME, before, anchors,
        CASE WHEN owner LIKE 'agent:%' THEN substr(owner, 7) END,
        CASE WHEN owner LIKE 'account:%' THEN substr(owner, 9) END,
        CASE WHEN owner LIKE 'participant:%' THEN substr(owner, 13) END,
        coalesce((after->>'updated_at')::timestamptz, clock_timestamp()));
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_erased()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN erased_ids e ON e.id = i.id) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'agent' AND f.id = i.agent_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

-- app: its triggers call it
CREATE OR REPLACE FUNCTION public.refuse_erased_ids(ids text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM erased_ids e WHERE e.id = ANY(ids)) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_account()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'account' AND f.id = i.account_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_agent()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'agent' AND f.id = i.agent_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_chunk()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN documents d ON d.id = i.document_id JOIN projects p ON p.id = d.project_id
      WHERE d.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_claim()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM write_fences f WHERE (f.kind = 'agent' AND f.id = NEW.id) OR (f.kind = 'account' AND f.id = NEW.owner_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_conversation()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT created_by FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT project_id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_delegate()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT written_by FROM inserted WHERE written_by IS NOT NULL));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_document()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(
    SELECT writer_name(author_kind, author_id) FROM inserted
    UNION SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON m.id = i.made_from));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT made_from FROM inserted) ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE i.made_from IS NOT NULL AND NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id
      WHERE m.id = i.made_from AND m.project_id = i.project_id AND m.erasing_since IS NULL AND c.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_exported()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT CASE subject_kind WHEN 'account' THEN 'user:' || subject_id ELSE agent_id END FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT writer_name(kind, member_id) FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT project_id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_message()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT writer_name(author_kind, author_id) FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM FROM projects WHERE id IN (SELECT project_id FROM inserted) ORDER BY id FOR KEY SHARE;
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  IF EXISTS (SELECT FROM inserted i JOIN conversations c ON c.id = i.conversation_id WHERE c.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_of_message()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON m.id = i.message_id));
  IF EXISTS (SELECT FROM inserted i JOIN messages m ON m.id = i.message_id JOIN conversations c ON c.id = m.conversation_id
      JOIN projects p ON p.id = m.project_id
      WHERE m.erasing_since IS NOT NULL OR c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON (f.kind = 'agent' AND f.id = i.id) OR (f.kind = 'account' AND f.id = i.owner_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_participant()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT created_by FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT 'user:' || account_id FROM inserted WHERE account_id IS NOT NULL));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_participation_claim()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF NEW.account_id IS NOT NULL THEN
    PERFORM refuse_writers(ARRAY['user:' || NEW.account_id, 'participant:' || NEW.id]);
    PERFORM refuse_into_projects(ARRAY[NEW.project_id]);
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_pointer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(
    SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON i.source_kind = 'message' AND m.id = i.source_id
    UNION SELECT writer_name(d.author_kind, d.author_id) FROM inserted i JOIN documents d ON i.source_kind = 'document' AND d.id = i.source_id
    UNION SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN documents d ON i.source_kind = 'document' AND d.id = i.source_id
      JOIN messages m ON m.id = d.made_from));
  PERFORM refuse_erased_ids(ARRAY(SELECT DISTINCT source_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'message') ORDER BY id FOR KEY SHARE;
  PERFORM FROM documents WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'document') ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN projects p ON p.id = m.project_id
        WHERE i.source_kind = 'message' AND m.id = i.source_id
          AND m.erasing_since IS NULL AND c.erasing_since IS NULL AND p.erasing_since IS NULL
      UNION ALL SELECT FROM documents d JOIN projects p ON p.id = d.project_id
        WHERE i.source_kind = 'document' AND d.id = i.source_id AND d.erasing_since IS NULL AND p.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_prepared()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT 'user:' || account_id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_project()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT created_by FROM inserted));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_rejected()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT agent_id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_reporter()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT reporter_id FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_told_apart()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT CASE kind WHEN 'account' THEN 'user:' || id ELSE id END FROM inserted));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_fenced_voter()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  -- Agents alone vote, and often: the same in two statements.
  PERFORM FROM agents a WHERE a.id IN (SELECT voter_id FROM inserted) FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE NOT EXISTS (SELECT FROM agents a WHERE a.id = i.voter_id)
      OR EXISTS (SELECT FROM write_fences f WHERE f.kind = 'agent' AND f.id = i.voter_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $function$;

-- app: its triggers call it
CREATE OR REPLACE FUNCTION public.refuse_into_projects(ids text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  IF EXISTS (SELECT FROM projects p WHERE p.id = ANY(ids) AND (p.erasing_since IS NOT NULL OR p.status = 'closed')) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_other_conversation_region()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RAISE EXCEPTION 'The region of a conversation is fixed at its creation' USING ERRCODE = 'check_violation';
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_other_region()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
  RAISE EXCEPTION 'The region of an agent is fixed at its creation' USING ERRCODE = 'check_violation';
END $function$;

-- app: its triggers call it
CREATE OR REPLACE FUNCTION public.refuse_writers(names text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
  of_agents text[] := ARRAY(SELECT DISTINCT n FROM unnest(names) AS n WHERE position(':' IN n) = 0 ORDER BY n);
  of_people text[] := ARRAY(SELECT DISTINCT substr(n, 6) AS id FROM unnest(names) AS n WHERE starts_with(n, 'user:') ORDER BY id);
  of_participants text[] := ARRAY(SELECT DISTINCT substr(n, 13) AS id FROM unnest(names) AS n WHERE starts_with(n, 'participant:') ORDER BY id);
BEGIN
  IF of_agents <> '{}' THEN
    PERFORM FROM agents WHERE id = ANY(of_agents) ORDER BY id FOR KEY SHARE;
    IF EXISTS (SELECT FROM unnest(of_agents) AS w(id) WHERE NOT EXISTS (SELECT FROM agents a WHERE a.id = w.id)
        OR EXISTS (SELECT FROM write_fences f WHERE f.kind = 'agent' AND f.id = w.id)) THEN
      RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
    END IF;
  END IF;
  IF of_people <> '{}' THEN
    PERFORM FROM accounts WHERE id = ANY(of_people) ORDER BY id FOR KEY SHARE;
    IF EXISTS (SELECT FROM unnest(of_people) AS w(id) WHERE NOT EXISTS (SELECT FROM accounts a WHERE a.id = w.id)
        OR EXISTS (SELECT FROM write_fences f WHERE f.kind = 'account' AND f.id = w.id)) THEN
      RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
    END IF;
  END IF;
  IF of_participants <> '{}' THEN
    PERFORM FROM project_participants WHERE id = ANY(of_participants) ORDER BY id FOR KEY SHARE;
    IF EXISTS (SELECT FROM unnest(of_participants) AS w(id) WHERE NOT EXISTS (SELECT FROM project_participants p WHERE p.id = w.id)
        OR EXISTS (SELECT FROM write_fences f WHERE f.kind = 'participant' AND f.id = w.id)) THEN
      RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
    END IF;
  END IF;
END $function$;

-- app: it looks where the application may look.
CREATE OR REPLACE FUNCTION public.words_scope(scope text, agent_id text, quarantined_at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT CASE WHEN quarantined_at IS NULL AND NOT EXISTS (SELECT FROM public.restricted_agents r WHERE r.id = agent_id) THEN scope ELSE 'agent:' || agent_id END
$function$;

-- app: its triggers call it
CREATE OR REPLACE FUNCTION public.writer_name(kind text, id text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE kind WHEN 'account' THEN 'user:' || id WHEN 'participant' THEN 'participant:' || id ELSE id END
$function$;
