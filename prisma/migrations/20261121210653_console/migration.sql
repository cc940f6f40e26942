-- CreateEnum
CREATE TYPE "account_link_purpose" AS ENUM ('invitation', 'reset');

-- AlterTable
ALTER TABLE "accounts" ADD COLUMN     "deactivated_at" TIMESTAMPTZ(3),
ALTER COLUMN "password_hash" DROP NOT NULL;

-- CreateTable
CREATE TABLE "account_links" (
    "code_hash" BYTEA NOT NULL,
    "account_id" TEXT NOT NULL,
    "purpose" "account_link_purpose" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_links_pkey" PRIMARY KEY ("code_hash")
);

-- CreateTable
CREATE TABLE "account_identities" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "linked_at" TIMESTAMPTZ(3) NOT NULL,
    "unlinked_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_identities_pkey" PRIMARY KEY ("issuer","subject")
);

-- CreateTable
CREATE TABLE "saved_searches" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "query" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "saved_searches_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_usage" (
    "token_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "reads" INTEGER NOT NULL DEFAULT 0,
    "writes" INTEGER NOT NULL DEFAULT 0,
    "refused" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "token_usage_pkey" PRIMARY KEY ("token_id","hour")
);

-- CreateIndex
CREATE INDEX "account_links_account_id_idx" ON "account_links"("account_id");

-- CreateIndex
CREATE INDEX "account_links_expires_at_idx" ON "account_links"("expires_at");

-- CreateIndex
CREATE INDEX "account_identities_account_id_idx" ON "account_identities"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "saved_searches_account_id_name_key" ON "saved_searches"("account_id", "name");

-- CreateIndex
CREATE INDEX "token_usage_hour_idx" ON "token_usage"("hour");

-- AddForeignKey
ALTER TABLE "account_links" ADD CONSTRAINT "account_links_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "account_identities" ADD CONSTRAINT "account_identities_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "saved_searches" ADD CONSTRAINT "saved_searches_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "token_usage" ADD CONSTRAINT "token_usage_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Nothing new is written for an account whose erasure has begun.
CREATE TRIGGER account_links_refuse_fenced AFTER INSERT ON account_links REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
CREATE TRIGGER account_identities_refuse_fenced AFTER INSERT ON account_identities REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
CREATE TRIGGER saved_searches_refuse_fenced AFTER INSERT ON saved_searches REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
