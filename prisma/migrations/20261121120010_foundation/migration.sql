-- CreateEnum
CREATE TYPE "account_role" AS ENUM ('person', 'manager', 'auditor', 'admin');

-- CreateEnum
CREATE TYPE "tier" AS ENUM ('free', 'pro', 'enterprise');

-- CreateEnum
CREATE TYPE "erasure_state" AS ENUM ('committed', 'signed');

-- CreateEnum
CREATE TYPE "visibility" AS ENUM ('private', 'org', 'network');

-- CreateEnum
CREATE TYPE "unit_type" AS ENUM ('ReasoningTrace', 'ToolCallPattern', 'ExpertSOP');

-- CreateTable
CREATE TABLE "organisations" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "organisations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" "account_role" NOT NULL,
    "password_hash" TEXT NOT NULL,
    "must_change_password" BOOLEAN NOT NULL DEFAULT false,
    "locale" TEXT NOT NULL DEFAULT 'en',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "user_agent" TEXT NOT NULL DEFAULT '',

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "known_sign_ins" (
    "mark" BYTEA NOT NULL,
    "account_id" TEXT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "known_sign_ins_pkey" PRIMARY KEY ("mark")
);

-- CreateTable
CREATE TABLE "agents" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "owner_id" TEXT,
    "name" TEXT,
    "tier" "tier" NOT NULL DEFAULT 'free',
    "reads_per_minute" INTEGER,
    "writes_per_minute" INTEGER,
    "lawful_basis" TEXT NOT NULL,
    "notice_version" TEXT NOT NULL,
    "consent_at" TIMESTAMPTZ(3),
    "consent_via" TEXT,
    "consent_withdrawn_at" TIMESTAMPTZ(3),
    "restricted_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "first_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "agents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "invites" (
    "code_hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "tier" "tier" NOT NULL DEFAULT 'free',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "invites_pkey" PRIMARY KEY ("code_hash")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "action" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "resource_type" TEXT NOT NULL,
    "resource_id" TEXT NOT NULL,
    "ip" TEXT NOT NULL,
    "details" JSONB NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("at","id")
) PARTITION BY RANGE ("at");

-- CreateTable
CREATE TABLE "erasures" (
    "receipt_id" TEXT NOT NULL,
    "audit_id" TEXT NOT NULL,
    "deleted_id" TEXT NOT NULL,
    "deleted_at" TIMESTAMPTZ(3) NOT NULL,
    "former_owner" TEXT,
    "state" "erasure_state" NOT NULL DEFAULT 'committed',
    "plan" JSONB NOT NULL,
    "receipt" JSONB,
    "jws" TEXT,
    "signed_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasures_pkey" PRIMARY KEY ("receipt_id")
);

-- CreateTable
CREATE TABLE "erased_ids" (
    "id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "erased_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "erased_ids_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deletion_audit_log" (
    "audit_id" TEXT NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "requested_by" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "scope" JSONB NOT NULL,
    "results" JSONB NOT NULL,

    CONSTRAINT "deletion_audit_log_pkey" PRIMARY KEY ("audit_id")
);

-- CreateTable
CREATE TABLE "signing_keys" (
    "kid" TEXT NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "sealed_private" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "signing_keys_pkey" PRIMARY KEY ("kid")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "scope" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "status" INTEGER NOT NULL DEFAULT 0,
    "body" JSONB,
    "resource_id" TEXT,
    "headers" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("scope","key")
);

-- CreateTable
CREATE TABLE "settings" (
    "name" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" TEXT NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "units" (
    "id" TEXT NOT NULL,
    "type" "unit_type" NOT NULL,
    "agent_id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "attributed_to" TEXT,
    "visibility" "visibility" NOT NULL,
    "document" JSONB NOT NULL,
    "quality_score" DOUBLE PRECISION NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "quarantined_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "units_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "content_rejections" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "stage" TEXT NOT NULL,

    CONSTRAINT "content_rejections_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tokens" (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "limit_key" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "prefix" TEXT NOT NULL,
    "name" TEXT,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "revoked_reason" TEXT,

    CONSTRAINT "tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_limit_refusals" (
    "id" TEXT NOT NULL,
    "token_id" TEXT NOT NULL,
    "limit_key" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "request_class" TEXT NOT NULL,
    "limit" INTEGER NOT NULL,
    "consumed" INTEGER NOT NULL,
    "ip" TEXT NOT NULL,

    CONSTRAINT "rate_limit_refusals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_limit_windows" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limit_windows_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE UNIQUE INDEX "accounts_email_key" ON "accounts"("email");

-- CreateIndex
CREATE INDEX "accounts_organisation_id_idx" ON "accounts"("organisation_id");

-- CreateIndex
CREATE INDEX "sessions_account_id_idx" ON "sessions"("account_id");

-- CreateIndex
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");

-- CreateIndex
CREATE INDEX "known_sign_ins_account_id_idx" ON "known_sign_ins"("account_id");

-- CreateIndex
CREATE INDEX "known_sign_ins_last_at_idx" ON "known_sign_ins"("last_at");

-- CreateIndex
CREATE INDEX "agents_organisation_id_idx" ON "agents"("organisation_id");

-- CreateIndex
CREATE INDEX "agents_owner_id_created_at_id_idx" ON "agents"("owner_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "agents_id_organisation_id_key" ON "agents"("id", "organisation_id");

-- CreateIndex
CREATE INDEX "invites_expires_at_idx" ON "invites"("expires_at");

-- CreateIndex
CREATE INDEX "audit_entries_agent_id_at_idx" ON "audit_entries"("agent_id", "at");

-- CreateIndex
CREATE INDEX "audit_entries_resource_id_at_idx" ON "audit_entries"("resource_id", "at");

-- CreateIndex
CREATE UNIQUE INDEX "erasures_audit_id_key" ON "erasures"("audit_id");

-- CreateIndex
CREATE INDEX "erasures_state_deleted_at_idx" ON "erasures"("state", "deleted_at");

-- CreateIndex
CREATE INDEX "erasures_former_owner_idx" ON "erasures"("former_owner");

-- CreateIndex
CREATE INDEX "erased_ids_erased_at_idx" ON "erased_ids"("erased_at");

-- CreateIndex
CREATE INDEX "deletion_audit_log_timestamp_idx" ON "deletion_audit_log"("timestamp");

-- CreateIndex
CREATE INDEX "idempotency_records_created_at_idx" ON "idempotency_records"("created_at");

-- CreateIndex
CREATE INDEX "idempotency_records_resource_id_idx" ON "idempotency_records"("resource_id");

-- CreateIndex
CREATE INDEX "units_agent_id_created_at_idx" ON "units"("agent_id", "created_at");

-- CreateIndex
CREATE INDEX "units_attributed_to_idx" ON "units"("attributed_to");

-- CreateIndex
CREATE INDEX "content_rejections_agent_id_at_idx" ON "content_rejections"("agent_id", "at");

-- CreateIndex
CREATE INDEX "content_rejections_at_idx" ON "content_rejections"("at");

-- CreateIndex
CREATE UNIQUE INDEX "tokens_hash_key" ON "tokens"("hash");

-- CreateIndex
CREATE UNIQUE INDEX "tokens_prefix_key" ON "tokens"("prefix");

-- CreateIndex
CREATE INDEX "tokens_agent_id_created_at_id_idx" ON "tokens"("agent_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "rate_limit_refusals_limit_key_at_idx" ON "rate_limit_refusals"("limit_key", "at");

-- CreateIndex
CREATE INDEX "rate_limit_refusals_token_id_idx" ON "rate_limit_refusals"("token_id");

-- CreateIndex
CREATE INDEX "rate_limit_refusals_at_idx" ON "rate_limit_refusals"("at");

-- CreateIndex
CREATE INDEX "rate_limit_windows_expire_idx" ON "rate_limit_windows"("expire");

-- AddForeignKey
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "known_sign_ins" ADD CONSTRAINT "known_sign_ins_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_organisation_id_fkey" FOREIGN KEY ("organisation_id") REFERENCES "organisations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "accounts"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "units" ADD CONSTRAINT "units_agent_id_organisation_id_fkey" FOREIGN KEY ("agent_id", "organisation_id") REFERENCES "agents"("id", "organisation_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "rate_limit_refusals" ADD CONSTRAINT "rate_limit_refusals_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema cannot say.

COMMENT ON TABLE "audit_entries" IS 'append-only: entries leave through audit_purge alone';
COMMENT ON TABLE "deletion_audit_log" IS 'append-only: kept for seven years';

-- Partitions by UTC day; the default one means that no entry is ever refused for want of a partition.
CREATE TABLE "audit_entries_default" PARTITION OF "audit_entries" DEFAULT;

-- Makes the partitions of today and of the days ahead; what the default one holds of such a day moves there.
CREATE FUNCTION audit_ensure_partitions(ahead int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
END $$;
COMMENT ON FUNCTION audit_ensure_partitions(int) IS 'app';

-- Removes what is older than the time it is given, and never anything younger than 90 days by the database's own clock.
-- Whole days go as partitions, without reading them; rows are looked at in the day that the limit cuts and in the default partition alone.
CREATE FUNCTION audit_purge(older_than timestamptz) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
END $$;
COMMENT ON FUNCTION audit_purge(timestamptz) IS 'app';

SELECT audit_ensure_partitions(7);

-- An id that was erased never comes back, whoever inserts it and whatever was under way. After the insert, because only then
-- a transaction that waited for the erasure's commit sees it.
CREATE FUNCTION units_refuse_erased() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM erased_ids WHERE id = NEW.id) THEN
    RAISE EXCEPTION 'erased' USING ERRCODE = 'KP410';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER units_refuse_erased AFTER INSERT ON units FOR EACH ROW EXECUTE FUNCTION units_refuse_erased();

-- What other domains may know of agents: whose units nobody else finds (GDPR art. 18).
CREATE VIEW restricted_agents AS SELECT id FROM agents WHERE restricted_at IS NOT NULL;

-- A unit is also found by the id that its document carries: the verification of an erasure looks there.
CREATE INDEX units_document_id_idx ON units ((document->>'id'));
CREATE INDEX idempotency_records_body_id_idx ON idempotency_records ((body->'data'->>'id')) WHERE body IS NOT NULL;

-- Windows live for a minute: no write-ahead log for them. A crash of the database empties them.
ALTER TABLE rate_limit_windows SET UNLOGGED;

-- What the clean-ups look for, without what they leave alone.
CREATE INDEX agents_never_used_idx ON agents (created_at) WHERE first_used_at IS NULL AND owner_id IS NULL;
CREATE INDEX tokens_revoked_at_idx ON tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX tokens_expires_at_idx ON tokens (expires_at) WHERE expires_at IS NOT NULL;

-- The tokens that a revocation by refusals takes, however often they were rotated before.
CREATE INDEX tokens_limit_key_idx ON tokens (limit_key) WHERE revoked_at IS NULL;

-- Removes deletion audit entries after their seven years, and nothing younger by the database's own clock.
CREATE FUNCTION deletion_log_purge() RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  gone int;
BEGIN
  DELETE FROM deletion_audit_log WHERE "timestamp" < now() - interval '7 years';
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;
COMMENT ON FUNCTION deletion_log_purge() IS 'app';
