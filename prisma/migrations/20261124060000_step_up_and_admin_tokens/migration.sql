-- Dangerous actions need a password that was entered in this session within the last ten minutes.
ALTER TABLE "sessions" ADD COLUMN "password_at" TIMESTAMPTZ(3);

-- An admin made the token for an agent of somebody else.
ALTER TABLE "tokens" ADD COLUMN "issued_by_admin" BOOLEAN NOT NULL DEFAULT false;

-- A token with scope admin lives at most 90 days. Existing ones keep working until 90 days after the upgrade.
UPDATE "tokens" SET expires_at = now() + interval '90 days'
  WHERE 'admin' = ANY(scopes) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now() + interval '90 days');
