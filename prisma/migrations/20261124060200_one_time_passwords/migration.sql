-- A one-time password works for 24 hours. Those of before have no end.
ALTER TABLE "accounts" ADD COLUMN "password_expires_at" TIMESTAMPTZ(3);
