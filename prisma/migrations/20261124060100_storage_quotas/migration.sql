-- An organisation's own quota; null: that of its highest tier. The warning is sent once each time 80 % is reached.
ALTER TABLE "organisations" ADD COLUMN "quota_bytes" BIGINT, ADD COLUMN "quota_rows" BIGINT, ADD COLUMN "storage_warned_at" TIMESTAMPTZ(3);

-- Of an agent that registered and that nobody has claimed.
ALTER TABLE "agents" ADD COLUMN "network" BYTEA, ADD COLUMN "shares_window" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "agents_network_idx" ON "agents"("network");

-- Times of the last registrations from one network.
CREATE TABLE "registration_networks" (
  "network" BYTEA NOT NULL,
  "times" TIMESTAMPTZ(3)[] NOT NULL,
  "last_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "registration_networks_pkey" PRIMARY KEY ("network")
);
CREATE INDEX "registration_networks_last_at_idx" ON "registration_networks"("last_at");

-- What an agent or a project stores: the sum of its rows here. Writers only insert, so that none waits for another; a job merges the rows
-- of one agent or project into one.
CREATE TABLE "storage_counts" (
  "id" BIGSERIAL NOT NULL,
  "agent_id" TEXT,
  "project_id" TEXT,
  "bytes" BIGINT NOT NULL,
  "rows" BIGINT NOT NULL,
  CONSTRAINT "storage_counts_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "storage_counts_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "storage_counts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "storage_counts_agent_id_idx" ON "storage_counts"("agent_id");
CREATE INDEX "storage_counts_project_id_idx" ON "storage_counts"("project_id");

-- Sizes are those of the content as text. pg_column_size would differ between an insert and a delete, because the database compresses
-- values in between.
DO $count$
DECLARE
  spec RECORD;
  holder TEXT;
  source TEXT;
BEGIN
  FOR spec IN SELECT * FROM (VALUES
      -- table, column of the holder, the parent that names the holder, bytes, rows, columns that change the size
      ('units', 'agent_id', NULL, 'octet_length(t.document::text)', 1, 'document'),
      ('skills', 'agent_id', NULL, 'octet_length(t.document)', 1, 'document'),
      ('agent_documents', 'agent_id', NULL, 'octet_length(t.title) + octet_length(t.body)', 1, 'title, body'),
      ('grimoire_entries', 'agent_id', NULL, 'coalesce(octet_length(t.envelope::text), 0) + coalesce(octet_length(t.sealed), 0)', 1, 'envelope, sealed'),
      ('chain_references', 'agent_id', NULL, '200', 1, NULL),
      ('heartbeats', 'agent_id', NULL, '100 + octet_length(t.counts::text)', 0, NULL),
      ('llm_log_entries', 'agent_id', NULL, 'octet_length(t.sealed)', 0, NULL),
      ('snapshots', 'agent_id', NULL, 'coalesce(t.bytes, 0)', 1, 'bytes'),
      ('state_bundles', 'agent_id', NULL, 't.bytes', 1, 'bytes'),
      ('sop_versions', 'agent_id', 'units p ON p.id = t.unit_id', 'octet_length(t.document::text)', 1, 'document'),
      ('skill_files', 'agent_id', 'skills p ON p.id = t.skill_id', 't.size', 1, 'size'),
      ('conversations', 'project_id', NULL, '200 + octet_length(t.title)', 1, NULL),
      ('messages', 'project_id', NULL, 'octet_length(t.content)', 1, 'content'),
      ('documents', 'project_id', NULL, 't.bytes', 1, 'bytes'),
      ('project_participants', 'project_id', NULL, '200', 1, NULL),
      ('provenance', 'project_id', NULL, '100 + octet_length(t.ref)', 0, NULL),
      ('message_edits', 'project_id', 'messages p ON p.id = t.message_id', 'octet_length(t.content)', 1, NULL),
      ('attachments', 'project_id', 'messages p ON p.id = t.message_id', 't.bytes', 1, 'bytes')
    ) AS specs(name, column_, parent, size, rows_, changing)
  LOOP
    holder := CASE WHEN spec.parent IS NULL THEN 't.' ELSE 'p.' END || quote_ident(spec.column_);
    source := CASE WHEN spec.parent IS NULL THEN '' ELSE ' JOIN ' || spec.parent END;

    EXECUTE format($f$
      CREATE FUNCTION count_stored_%2$s() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN
        INSERT INTO storage_counts (%1$I, bytes, rows)
          SELECT %3$s, sum(%5$s), %6$s * count(*) FROM fresh t %4$s GROUP BY 1;
        RETURN NULL;
      END $body$;
      CREATE TRIGGER %2$s_count_stored AFTER INSERT ON %2$I
        REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_%2$s()
    $f$, spec.column_, spec.name, holder, source, spec.size, spec.rows_);

    -- A holder that is deleted in the same transaction has no counts any more.
    EXECUTE format($f$
      CREATE FUNCTION count_deleted_%2$s() RETURNS trigger LANGUAGE plpgsql AS $body$
      BEGIN
        INSERT INTO storage_counts (%1$I, bytes, rows)
          SELECT h.id, -sum(%5$s), -%6$s * count(*) FROM gone t %4$s JOIN %7$I h ON h.id = %3$s GROUP BY 1;
        RETURN NULL;
      END $body$;
      CREATE TRIGGER %2$s_count_deleted AFTER DELETE ON %2$I
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_%2$s()
    $f$, spec.column_, spec.name, holder, source, spec.size, spec.rows_,
      CASE spec.column_ WHEN 'agent_id' THEN 'agents' ELSE 'projects' END);

    IF spec.changing IS NOT NULL THEN
      EXECUTE format($f$
        CREATE FUNCTION count_changed_%2$s() RETURNS trigger LANGUAGE plpgsql AS $body$
        DECLARE
          change BIGINT := (SELECT %5$s FROM (SELECT NEW.*) t) - (SELECT %5$s FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (%1$I, bytes, rows) SELECT %3$s, change, 0 FROM (SELECT NEW.*) t %4$s;
          END IF;
          RETURN NULL;
        END $body$;
        CREATE TRIGGER %2$s_count_changed AFTER UPDATE OF %6$s ON %2$I
          FOR EACH ROW EXECUTE FUNCTION count_changed_%2$s()
      $f$, spec.column_, spec.name, holder, source, spec.size, spec.changing);
    END IF;

    EXECUTE format('INSERT INTO storage_counts (%1$I, bytes, rows) SELECT %3$s, sum(%5$s), %6$s * count(*) FROM %2$I t %4$s GROUP BY 1',
      spec.column_, spec.name, holder, source, spec.size, spec.rows_);
  END LOOP;
END $count$;

-- A cascade deletes the children after their parent, which then no longer names the holder: they are counted before.
CREATE FUNCTION count_children_of_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage_counts (agent_id, bytes, rows)
    SELECT a.id, -sum(octet_length(v.document::text)), -count(*) FROM sop_versions v JOIN agents a ON a.id = OLD.agent_id
    WHERE v.unit_id = OLD.id GROUP BY 1;
  RETURN OLD;
END $$;
CREATE TRIGGER units_count_children BEFORE DELETE ON units
  FOR EACH ROW WHEN (OLD.type = 'ExpertSOP') EXECUTE FUNCTION count_children_of_unit();

CREATE FUNCTION count_children_of_skill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage_counts (agent_id, bytes, rows)
    SELECT a.id, -sum(f.size), -count(*) FROM skill_files f JOIN agents a ON a.id = OLD.agent_id WHERE f.skill_id = OLD.id GROUP BY 1;
  RETURN OLD;
END $$;
CREATE TRIGGER skills_count_children BEFORE DELETE ON skills FOR EACH ROW EXECUTE FUNCTION count_children_of_skill();

CREATE FUNCTION count_children_of_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage_counts (project_id, bytes, rows)
    SELECT p.id, -sum(c.bytes), -count(*) FROM (
        SELECT octet_length(content) AS bytes FROM message_edits WHERE message_id = OLD.id
        UNION ALL SELECT bytes FROM attachments WHERE message_id = OLD.id) c
      JOIN projects p ON p.id = OLD.project_id GROUP BY 1;
  RETURN OLD;
END $$;
CREATE TRIGGER messages_count_children BEFORE DELETE ON messages FOR EACH ROW EXECUTE FUNCTION count_children_of_message();
