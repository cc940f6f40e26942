-- An erasure preserves no versions for a hold that has ended, and versions of files, chunks and edits have the owner of their record.
CREATE OR REPLACE FUNCTION preserve_held_version()
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
