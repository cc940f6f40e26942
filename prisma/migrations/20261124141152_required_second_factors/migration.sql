-- How a session was opened: an identity provider asks for second factors itself. Null: opened before this column existed.
ALTER TABLE "sessions" ADD COLUMN "signed_in_with" TEXT;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_signed_in_with" CHECK (signed_in_with IN ('password', 'passkey', 'identity', 'identity-one-factor'));

-- When an admin last sent this person an email that asks for a second factor.
ALTER TABLE "accounts" ADD COLUMN "factor_reminded_at" TIMESTAMPTZ(3);
