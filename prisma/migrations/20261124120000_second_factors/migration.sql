-- Second factors of the sign-in: passkeys (WebAuthn) and authenticator apps (TOTP, RFC 6238).
CREATE TYPE "account_factor_kind" AS ENUM ('passkey', 'totp');

CREATE TABLE "account_factors" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" "account_factor_kind" NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "confirmed_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "totp_secret" BYTEA,
    "last_totp_step" BIGINT,
    "credential_id" BYTEA,
    "public_key" BYTEA,
    "signature_count" BIGINT,
    "transports" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "last_challenge_at" TIMESTAMPTZ(3),
    CONSTRAINT "account_factors_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "account_factors_kind" CHECK (
        CASE kind WHEN 'totp' THEN totp_secret IS NOT NULL AND credential_id IS NULL
                  ELSE totp_secret IS NULL AND credential_id IS NOT NULL AND public_key IS NOT NULL AND confirmed_at IS NOT NULL END)
);
CREATE UNIQUE INDEX "account_factors_credential_id_key" ON "account_factors"("credential_id");
CREATE INDEX "account_factors_account_id_idx" ON "account_factors"("account_id");
ALTER TABLE "account_factors" ADD CONSTRAINT "account_factors_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Single-use codes for a person who has lost every second factor. Only hashes are stored.
CREATE TABLE "account_recovery_codes" (
    "code_hash" BYTEA NOT NULL,
    "account_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    CONSTRAINT "account_recovery_codes_pkey" PRIMARY KEY ("code_hash")
);
CREATE INDEX "account_recovery_codes_account_id_idx" ON "account_recovery_codes"("account_id");
ALTER TABLE "account_recovery_codes" ADD CONSTRAINT "account_recovery_codes_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Wrong codes in a row, and the last one's time: after ten, codes are refused for an hour.
ALTER TABLE "accounts" ADD COLUMN "wrong_codes" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "accounts" ADD COLUMN "wrong_code_at" TIMESTAMPTZ(3);

-- Nothing is added to an account while it is being erased.
CREATE TRIGGER account_factors_refuse_fenced AFTER INSERT ON account_factors REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
CREATE TRIGGER account_recovery_codes_refuse_fenced AFTER INSERT ON account_recovery_codes REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
