-- CreateEnum
CREATE TYPE "erasure_run_state" AS ENUM ('planning', 'erasing', 'verifying', 'held', 'done', 'failed');

-- CreateEnum
CREATE TYPE "erasure_step_state" AS ENUM ('waiting', 'running', 'done', 'stuck');

-- CreateEnum
CREATE TYPE "prepared_export_state" AS ENUM ('queued', 'running', 'ready', 'expired', 'failed');

-- CreateEnum
CREATE TYPE "request_state" AS ENUM ('received', 'verified', 'waiting', 'running', 'verifying', 'completed', 'partly_completed', 'cancelled', 'rejected', 'failed');

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "restricted_at" TIMESTAMPTZ(3),
ADD COLUMN     "restricted_for" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "suspended_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "agents" ADD COLUMN     "restricted_for" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "suspended_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "export_runs" ADD COLUMN     "subject_kind" TEXT NOT NULL DEFAULT 'agent';

-- CreateTable
CREATE TABLE "erasure_runs" (
    "id" TEXT NOT NULL,
    "request_id" TEXT,
    "receipt_id" TEXT NOT NULL,
    "account_id" TEXT,
    "agents" TEXT[],
    "requested_by" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "state" "erasure_run_state" NOT NULL DEFAULT 'planning',
    "holds_seen" TEXT NOT NULL DEFAULT '',
    "plan_id" TEXT NOT NULL DEFAULT '',
    "rounds" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "fenced_at" TIMESTAMPTZ(3),
    "planned_at" TIMESTAMPTZ(3),
    "erased_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasure_runs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "erasure_steps" (
    "run_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "state" "erasure_step_state" NOT NULL DEFAULT 'waiting',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "planned" INTEGER NOT NULL DEFAULT 0,
    "erased" INTEGER NOT NULL DEFAULT 0,
    "held" JSONB NOT NULL DEFAULT '{}',
    "residue" INTEGER,
    "fault" TEXT,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "verified_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasure_steps_pkey" PRIMARY KEY ("run_id","holder")
);

-- CreateTable
CREATE TABLE "erasure_pages" (
    "run_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "page" INTEGER NOT NULL,
    "items" TEXT[],
    "erased_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasure_pages_pkey" PRIMARY KEY ("run_id","holder","page")
);

-- CreateTable
CREATE TABLE "write_fences" (
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "raised_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "write_fences_pkey" PRIMARY KEY ("kind","id")
);

-- CreateTable
CREATE TABLE "suppressions" (
    "hash" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "run_id" TEXT NOT NULL,

    CONSTRAINT "suppressions_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "suppression_keys" (
    "id" TEXT NOT NULL,
    "sealed_key" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "suppression_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "prepared_exports" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "request_id" TEXT,
    "basis" TEXT NOT NULL,
    "state" "prepared_export_state" NOT NULL DEFAULT 'queued',
    "attempt" TEXT,
    "agents" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "parts_done" INTEGER NOT NULL DEFAULT 0,
    "parts_total" INTEGER NOT NULL DEFAULT 0,
    "records" INTEGER NOT NULL DEFAULT 0,
    "bytes" BIGINT,
    "sha256" TEXT,
    "fault" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "ready_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "downloaded_at" TIMESTAMPTZ(3),

    CONSTRAINT "prepared_exports_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "privacy_requests" (
    "id" TEXT NOT NULL,
    "kinds" TEXT[],
    "channel" TEXT NOT NULL,
    "state" "request_state" NOT NULL DEFAULT 'received',
    "account_id" TEXT,
    "agent_id" TEXT,
    "subject_kind" TEXT NOT NULL,
    "subject_key" TEXT NOT NULL,
    "filed_by" TEXT,
    "grace" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL,
    "verified_by" TEXT,
    "verified_at" TIMESTAMPTZ(3),
    "waiting_until" TIMESTAMPTZ(3),
    "started_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "legal_due_at" TIMESTAMPTZ(3) NOT NULL,
    "extended_at" TIMESTAMPTZ(3),
    "paused_at" TIMESTAMPTZ(3),
    "closed_at" TIMESTAMPTZ(3),
    "assigned_to" TEXT,
    "contact" BYTEA,
    "payload" JSONB,
    "run_id" TEXT,
    "receipt_id" TEXT,
    "reminded_at" TIMESTAMPTZ(3),
    "nearly_told_at" TIMESTAMPTZ(3),
    "overdue_told_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "privacy_requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "privacy_request_parts" (
    "request_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "outcome" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "privacy_request_parts_pkey" PRIMARY KEY ("request_id","kind")
);

-- CreateTable
CREATE TABLE "privacy_request_events" (
    "id" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "by" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "from" "request_state",
    "to" "request_state",
    "details" JSONB NOT NULL DEFAULT '{}',
    "note" TEXT,
    "is_internal" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "privacy_request_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "privacy_links" (
    "hash" BYTEA NOT NULL,
    "request_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "privacy_links_pkey" PRIMARY KEY ("hash")
);

-- CreateIndex
CREATE UNIQUE INDEX "erasure_runs_request_id_key" ON "erasure_runs"("request_id");

-- CreateIndex
CREATE UNIQUE INDEX "erasure_runs_receipt_id_key" ON "erasure_runs"("receipt_id");

-- CreateIndex
CREATE INDEX "erasure_runs_state_created_at_idx" ON "erasure_runs"("state", "created_at");

-- CreateIndex
CREATE INDEX "erasure_runs_created_at_id_idx" ON "erasure_runs"("created_at", "id");

-- CreateIndex
CREATE INDEX "erasure_steps_state_started_at_idx" ON "erasure_steps"("state", "started_at");

-- CreateIndex
CREATE INDEX "write_fences_run_id_idx" ON "write_fences"("run_id");

-- CreateIndex
CREATE INDEX "suppressions_run_id_idx" ON "suppressions"("run_id");

-- CreateIndex
CREATE INDEX "export_runs_requested_by_idx" ON "export_runs"("requested_by");

-- CreateIndex
CREATE INDEX "prepared_exports_account_id_created_at_id_idx" ON "prepared_exports"("account_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "prepared_exports_request_id_idx" ON "prepared_exports"("request_id");

-- CreateIndex
CREATE INDEX "prepared_exports_state_expires_at_idx" ON "prepared_exports"("state", "expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "privacy_requests_run_id_key" ON "privacy_requests"("run_id");

-- CreateIndex
CREATE INDEX "privacy_requests_state_legal_due_at_idx" ON "privacy_requests"("state", "legal_due_at");

-- CreateIndex
CREATE INDEX "privacy_requests_state_waiting_until_idx" ON "privacy_requests"("state", "waiting_until");

-- CreateIndex
CREATE INDEX "privacy_requests_account_id_received_at_id_idx" ON "privacy_requests"("account_id", "received_at", "id");

-- CreateIndex
CREATE INDEX "privacy_requests_agent_id_received_at_id_idx" ON "privacy_requests"("agent_id", "received_at", "id");

-- CreateIndex
CREATE INDEX "privacy_requests_subject_key_state_idx" ON "privacy_requests"("subject_key", "state");

-- CreateIndex
CREATE INDEX "privacy_requests_received_at_id_idx" ON "privacy_requests"("received_at", "id");

-- CreateIndex
CREATE INDEX "privacy_requests_closed_at_idx" ON "privacy_requests"("closed_at");

-- CreateIndex
CREATE INDEX "privacy_requests_filed_by_idx" ON "privacy_requests"("filed_by");

-- CreateIndex
CREATE INDEX "privacy_requests_assigned_to_idx" ON "privacy_requests"("assigned_to");

-- CreateIndex
CREATE INDEX "privacy_request_events_request_id_at_id_idx" ON "privacy_request_events"("request_id", "at", "id");

-- CreateIndex
CREATE INDEX "privacy_links_request_id_idx" ON "privacy_links"("request_id");

-- CreateIndex
CREATE INDEX "privacy_links_expires_at_idx" ON "privacy_links"("expires_at");

-- AddForeignKey
ALTER TABLE "erasure_steps" ADD CONSTRAINT "erasure_steps_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "erasure_runs"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "erasure_pages" ADD CONSTRAINT "erasure_pages_run_id_holder_fkey" FOREIGN KEY ("run_id", "holder") REFERENCES "erasure_steps"("run_id", "holder") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "privacy_request_parts" ADD CONSTRAINT "privacy_request_parts_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "privacy_requests"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "privacy_request_events" ADD CONSTRAINT "privacy_request_events_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "privacy_requests"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "privacy_links" ADD CONSTRAINT "privacy_links_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "privacy_requests"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A list that is never null, like every other.
UPDATE agents SET restricted_for = CASE WHEN restricted_at IS NULL THEN '{}'::text[] ELSE '{consent}' END;
ALTER TABLE agents ALTER COLUMN restricted_for SET NOT NULL;
ALTER TABLE accounts ALTER COLUMN restricted_for SET NOT NULL;

-- The write fence: nothing is written for whom an erasure is under way. After the insert, because only then a statement that waited for
-- the fence's transaction, which holds the rows of the subject FOR UPDATE, sees it. KP423 becomes the problem `fenced`.
CREATE OR REPLACE FUNCTION refuse_erased() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN erased_ids e ON e.id = i.id) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'agent' AND f.id = i.agent_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_agent() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'agent' AND f.id = i.agent_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
-- Tables without a foreign key to who wrote: an agent, or a person as `user:<account>`. Their rows are locked first, as a foreign key would,
-- so that a fence waits for who is writing; and who is gone by then, because the erasure is done and its fence lowered, writes nothing more.
CREATE FUNCTION refuse_writers(names text[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  of_agents text[] := ARRAY(SELECT DISTINCT n FROM unnest(names) AS n WHERE position(':' IN n) = 0 ORDER BY n);
  of_people text[] := ARRAY(SELECT DISTINCT substr(n, 6) AS id FROM unnest(names) AS n WHERE starts_with(n, 'user:') ORDER BY id);
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
END $$;
COMMENT ON FUNCTION refuse_writers(text[]) IS 'app: its triggers call it';
CREATE FUNCTION refuse_fenced_rejected() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT agent_id FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_voter() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  -- Agents alone vote, and often: the same in two statements.
  PERFORM FROM agents a WHERE a.id IN (SELECT voter_id FROM inserted) FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE NOT EXISTS (SELECT FROM agents a WHERE a.id = i.voter_id)
      OR EXISTS (SELECT FROM write_fences f WHERE f.kind = 'agent' AND f.id = i.voter_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_reporter() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT reporter_id FROM inserted));
  RETURN NULL;
END $$;
-- An admin may export what is said of a name that is no agent's.
CREATE FUNCTION refuse_fenced_exported() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT CASE subject_kind WHEN 'account' THEN 'user:' || subject_id ELSE agent_id END FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_prepared() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT 'user:' || account_id FROM inserted));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_account() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON f.kind = 'account' AND f.id = i.account_id) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_owner() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM inserted i JOIN write_fences f ON (f.kind = 'agent' AND f.id = i.id) OR (f.kind = 'account' AND f.id = i.owner_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_refuse_fenced AFTER INSERT ON tokens REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();
CREATE TRIGGER content_rejections_refuse_fenced AFTER INSERT ON content_rejections REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_rejected();
CREATE TRIGGER unit_votes_refuse_fenced AFTER INSERT ON unit_votes REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_voter();
CREATE TRIGGER unit_reports_refuse_fenced AFTER INSERT ON unit_reports REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_reporter();
CREATE TRIGGER export_runs_refuse_fenced AFTER INSERT ON export_runs REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_exported();
CREATE TRIGGER sessions_refuse_fenced AFTER INSERT ON sessions REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
CREATE TRIGGER prepared_exports_refuse_fenced AFTER INSERT ON prepared_exports REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_prepared();
CREATE TRIGGER agents_refuse_fenced_insert AFTER INSERT ON agents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_owner();
-- A claim moves an agent to an owner: neither may be fenced. What the erasure itself changes leaves the owner alone or takes it away.
CREATE FUNCTION refuse_fenced_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM write_fences f WHERE (f.kind = 'agent' AND f.id = NEW.id) OR (f.kind = 'account' AND f.id = NEW.owner_id)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER agents_refuse_fenced_claim AFTER UPDATE OF owner_id ON agents FOR EACH ROW
  WHEN (NEW.owner_id IS NOT NULL AND NEW.owner_id IS DISTINCT FROM OLD.owner_id) EXECUTE FUNCTION refuse_fenced_claim();

-- What other domains may know of what agents contributed: which records are whose.
CREATE VIEW agent_records AS
  SELECT 'unit'::text AS kind, id, agent_id, created_at FROM units UNION ALL SELECT 'skill'::text, id, agent_id, created_at FROM skills;

-- What other domains may know of accounts: who is fenced, and may not sign in.
CREATE VIEW fenced AS SELECT kind, id FROM write_fences;

-- What the verification of an erasure looks for by other columns than those that erase goes by.
CREATE INDEX unit_votes_owner_key_idx ON unit_votes (owner_key);
CREATE INDEX unit_reports_owner_key_idx ON unit_reports (owner_key);
CREATE INDEX legal_holds_in_force_idx ON legal_holds (kind, target_id) WHERE released_at IS NULL;
CREATE INDEX privacy_requests_open_idx ON privacy_requests (legal_due_at) WHERE closed_at IS NULL;
-- One open request of a subject for each kind is a rule of the service; one open erasure is a rule of the database.
CREATE UNIQUE INDEX privacy_requests_one_erasure_idx ON privacy_requests (subject_key)
  WHERE 'erasure' = ANY (kinds) AND state NOT IN ('completed', 'cancelled', 'rejected');

-- What other domains may know of tokens: whose they are.
CREATE VIEW token_bearers AS SELECT id, agent_id FROM tokens;

-- An erasure asks for the answers that name each of its units: no list of what is yet to be sorted in is read through for each.
ALTER INDEX idempotency_records_ids_idx SET (fastupdate = off);

-- Where others' records name somebody: what an erasure replaces by a pseudonym.
CREATE INDEX sop_versions_created_by_idx ON sop_versions (created_by);
CREATE INDEX sop_versions_approved_by_idx ON sop_versions (approved_by) WHERE approved_by IS NOT NULL;
CREATE INDEX sop_versions_validated_by_idx ON sop_versions USING gin ((document->'metadata'->'validated_by') jsonb_path_ops)
  WHERE document->'metadata'->'validated_by' IS NOT NULL;
CREATE INDEX skills_author_idx ON skills ((front_matter->>'author')) WHERE front_matter->>'author' IS NOT NULL;
