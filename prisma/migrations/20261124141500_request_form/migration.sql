-- Privacy requests from the public form. They are found by the keyed hash of their confirmed address.
ALTER TABLE "privacy_requests" ADD COLUMN "address_key" TEXT;
CREATE INDEX "privacy_requests_address_key_idx" ON "privacy_requests"("address_key");

-- Requests whose address is not confirmed yet. They are deleted after a day.
CREATE TABLE "unconfirmed_requests" (
    "id" TEXT NOT NULL,
    "hash" BYTEA,
    "address_key" TEXT NOT NULL,
    "network_key" TEXT NOT NULL,
    "content" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "emailed_at" TIMESTAMPTZ(3),
    "used_at" TIMESTAMPTZ(3),
    CONSTRAINT "unconfirmed_requests_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "unconfirmed_requests_hash_key" ON "unconfirmed_requests"("hash");
CREATE INDEX "unconfirmed_requests_address_key_emailed_at_idx" ON "unconfirmed_requests"("address_key", "emailed_at");
CREATE INDEX "unconfirmed_requests_network_key_idx" ON "unconfirmed_requests"("network_key");
CREATE INDEX "unconfirmed_requests_expires_at_idx" ON "unconfirmed_requests"("expires_at");
