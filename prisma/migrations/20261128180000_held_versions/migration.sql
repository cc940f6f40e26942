-- CreateTable
CREATE TABLE "held_versions" (
    "id" TEXT NOT NULL,
    "table_name" TEXT NOT NULL,
    "content" JSONB NOT NULL,
    "anchors" TEXT[],
    "agent_id" TEXT,
    "account_id" TEXT,
    "participant_id" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "held_versions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "held_versions_agent_id_at_id_idx" ON "held_versions"("agent_id", "at", "id");

-- CreateIndex
CREATE INDEX "held_versions_account_id_at_id_idx" ON "held_versions"("account_id", "at", "id");

-- CreateIndex
CREATE INDEX "held_versions_participant_id_idx" ON "held_versions"("participant_id");

-- CreateIndex
CREATE INDEX "held_versions_anchors_idx" ON "held_versions" USING GIN ("anchors");

-- The kinds of actors: `user:<account>` for people, otherwise the id of an agent.
CREATE FUNCTION actor_anchor(actor text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path TO 'public', 'pg_temp' AS $$
  SELECT CASE WHEN actor LIKE 'user:%' THEN 'account:' || substr(actor, 6) ELSE 'agent:' || actor END
$$;

-- What a row belongs to. The anchor of its author or data subject comes first. A row whose parent is already deleted takes the anchors
-- that were preserved with the parent.
CREATE FUNCTION hold_anchors(table_name text, r jsonb) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path TO 'public', 'pg_temp' AS $$
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
END $$;

-- A legal hold in force that covers a record with these anchors, or null. A hold on a person also covers the agents and claimed
-- participations of the person. A time of null means that holds count until they are released, even after they expired.
CREATE FUNCTION hold_on(on_anchors text[], at timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path TO 'public', 'pg_temp' AS $$
  SELECT min(h.id) FROM legal_holds h
  WHERE h.released_at IS NULL AND (at IS NULL OR h.expires_at IS NULL OR h.expires_at > at)
    AND (h.kind || ':' || h.target_id = ANY(on_anchors)
      OR (h.kind = 'account' AND (
        EXISTS (SELECT FROM agents a WHERE a.owner_id = h.target_id AND 'agent:' || a.id = ANY(on_anchors))
        OR EXISTS (SELECT FROM project_participants p WHERE p.account_id = h.target_id AND 'participant:' || p.id = ANY(on_anchors)))))
$$;
COMMENT ON FUNCTION hold_on(text[], timestamptz) IS 'app: finds the legal hold that covers a record';

-- Preserves the row that a statement changes or deletes while a legal hold covers it. Arguments: the columns that are neither stored nor
-- compared (derived data and credentials), and the columns that are stored but whose change alone preserves nothing.
--
-- The database has no business time, so a hold counts here until it is released. A job deletes the versions of expired holds.
CREATE FUNCTION preserve_held_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' AS $$
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
  IF hold_on(anchors, NULL) IS NOT NULL THEN
    owner := anchors[1];
    -- The owner of an agent and the account of a participant, who may no longer be found through these rows later.
    anchors := ARRAY(SELECT DISTINCT a FROM unnest(anchors || ARRAY(
      SELECT 'account:' || g.owner_id FROM agents g WHERE g.owner_id IS NOT NULL AND g.id = ANY(SELECT substr(x, 7) FROM unnest(anchors) x WHERE x LIKE 'agent:%')
      UNION ALL SELECT 'account:' || p.account_id FROM project_participants p
        WHERE p.account_id IS NOT NULL AND p.id = ANY(SELECT substr(x, 13) FROM unnest(anchors) x WHERE x LIKE 'participant:%'))) a);
    INSERT INTO held_versions (id, table_name, content, anchors, agent_id, account_id, participant_id, at)
      VALUES ('hver_' || replace(gen_random_uuid()::text, '-', ''), TG_TABLE_NAME, before, anchors,
        CASE WHEN owner LIKE 'agent:%' THEN substr(owner, 7) END,
        CASE WHEN owner LIKE 'account:%' THEN substr(owner, 9) END,
        CASE WHEN owner LIKE 'participant:%' THEN substr(owner, 13) END,
        coalesce((after->>'updated_at')::timestamptz, clock_timestamp()));
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

DO $triggers$
DECLARE
  kind record;
BEGIN
  FOR kind IN SELECT * FROM (VALUES
    ('units', '{search,scope}', '{quality_score,novelty,votes_for,votes_against,version,quarantined_at,updated_at}'),
    ('skills', '{search,scope}', '{quality_score,version,quarantined_at,updated_at}'),
    ('skill_files', '{}', '{}'),
    ('sop_versions', '{}', '{created_by,approved_by}'),
    ('unit_votes', '{network}', '{owner_key,weight}'),
    ('unit_reports', '{network}', '{owner_key,settled_at}'),
    ('agents', '{network,shares_window,first_used_at}', '{suspended_at,restricted_at,restricted_for,status,status_at,died_at}'),
    ('agent_documents', '{}', '{revision,updated_at}'),
    ('chain_references', '{}', '{}'),
    ('heartbeats', '{}', '{}'),
    ('performance_cards', '{}', '{published_at}'),
    ('grimoire_entries', '{}', '{sealed,updated_at}'),
    ('clade_shares', '{}', '{sealed}'),
    ('llm_log_entries', '{}', '{sealed}'),
    ('accounts', '{password_hash,must_change_password,password_expires_at,wrong_codes,wrong_code_at,factor_reminded_at}',
      '{suspended_at,deactivated_at,restricted_at,restricted_for,email_verified_at,updated_at}'),
    ('account_identities', '{}', '{unlinked_at}'),
    ('email_choices', '{}', '{updated_at}'),
    ('saved_searches', '{}', '{}'),
    ('projects', '{}',
      '{created_by,status,closing_at,closes_at,closing_by,closing_reason,letters_sent,closed_at,receipt_id,erasing_since,updated_at}'),
    ('project_members', '{}', '{added_by}'),
    ('project_participants', '{}', '{created_by,restricted_at,restricted_for,updated_at}'),
    ('conversations', '{}', '{created_by,erasing_since,updated_at}'),
    ('messages', '{}', '{written_by,erasing_since,updated_at}'),
    ('message_edits', '{}', '{edited_by}'),
    ('attachments', '{}', '{}'),
    ('documents', '{}', '{written_by,erasing_since,updated_at}'),
    ('document_chunks', '{}', '{}')) AS k(name, unstored, uncompared)
  LOOP
    -- The name sorts before all others: the row is preserved before another trigger changes or counts it.
    EXECUTE format('CREATE TRIGGER a_preserve_held BEFORE UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION preserve_held_version(%L, %L)',
      kind.name, kind.unstored, kind.uncompared);
  END LOOP;
END $triggers$;
