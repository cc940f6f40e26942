-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "email_verified_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "erasure_runs" ADD COLUMN     "participants" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "privacy_requests" ADD COLUMN     "participant_id" TEXT;

-- AlterTable
ALTER TABLE "messages" ADD COLUMN     "written_by" TEXT;

-- AlterTable
ALTER TABLE "documents" ADD COLUMN     "written_by" TEXT;

-- CreateTable
CREATE TABLE "project_participants" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "external_id" TEXT NOT NULL,
    "name" TEXT,
    "email" TEXT,
    "account_id" TEXT,
    "claimed_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "project_participants_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "project_participants_project_id_created_at_id_idx" ON "project_participants"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "project_participants_account_id_idx" ON "project_participants"("account_id");

-- CreateIndex
CREATE INDEX "project_participants_email_idx" ON "project_participants"("email");

-- CreateIndex
CREATE INDEX "project_participants_created_by_idx" ON "project_participants"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "project_participants_project_id_external_id_key" ON "project_participants"("project_id", "external_id");

-- CreateIndex
CREATE INDEX "privacy_requests_participant_id_received_at_id_idx" ON "privacy_requests"("participant_id", "received_at", "id");

-- CreateIndex
CREATE INDEX "messages_written_by_idx" ON "messages"("written_by");

-- CreateIndex
CREATE INDEX "documents_written_by_idx" ON "documents"("written_by");

-- AddForeignKey
ALTER TABLE "project_participants" ADD CONSTRAINT "project_participants_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A participant is a writer, too. Its row is locked as the rows of agents and accounts are: a fence waits for the transaction that writes on
-- its behalf, and an erased participant has no row.
CREATE OR REPLACE FUNCTION writer_name(kind text, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE kind WHEN 'account' THEN 'user:' || id WHEN 'participant' THEN 'participant:' || id ELSE id END
$$;
CREATE OR REPLACE FUNCTION refuse_writers(names text[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
END $$;

-- An agent that is being erased writes on nobody's behalf: `written_by` would name it again.
CREATE FUNCTION refuse_fenced_delegate() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT written_by FROM inserted WHERE written_by IS NOT NULL));
  RETURN NULL;
END $$;
CREATE TRIGGER messages_refuse_fenced_delegate AFTER INSERT ON messages REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_delegate();
CREATE TRIGGER documents_refuse_fenced_delegate AFTER INSERT ON documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_delegate();

-- A participation is neither made nor claimed while its account, its project or the agent that makes it is being erased.
CREATE FUNCTION refuse_fenced_participant() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT created_by FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  PERFORM refuse_writers(ARRAY(SELECT DISTINCT 'user:' || account_id FROM inserted WHERE account_id IS NOT NULL));
  RETURN NULL;
END $$;
CREATE FUNCTION refuse_fenced_participation_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF NEW.account_id IS NOT NULL THEN
    PERFORM refuse_writers(ARRAY['user:' || NEW.account_id, 'participant:' || NEW.id]);
    PERFORM refuse_into_projects(ARRAY[NEW.project_id]);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER project_participants_refuse_fenced AFTER INSERT ON project_participants REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_participant();
CREATE TRIGGER project_participants_refuse_fenced_claim AFTER UPDATE OF account_id ON project_participants FOR EACH ROW EXECUTE FUNCTION refuse_fenced_participation_claim();

-- What other domains may know of participations: which account claimed them.
CREATE VIEW participations AS SELECT id, project_id, account_id, created_at FROM project_participants;
