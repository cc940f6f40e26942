-- A manager's invitation notes an address without taking it: until it is accepted, the account has a placeholder in its place.
ALTER TABLE "accounts" ADD COLUMN "invited_email" TEXT;
CREATE INDEX "accounts_invited_email_idx" ON "accounts"("invited_email");

-- Times of withdrawn invitations of the last day: they count towards the limit of invitations.
ALTER TABLE "organisations" ADD COLUMN "withdrawn_invitations" TIMESTAMPTZ(3)[] NOT NULL DEFAULT ARRAY[]::TIMESTAMPTZ(3)[];
