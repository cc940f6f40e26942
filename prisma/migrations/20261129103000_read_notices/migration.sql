-- Saved filters belong to a page. Those stored so far are of the audit log.
ALTER TABLE "saved_searches" ADD COLUMN "page" TEXT NOT NULL DEFAULT 'audit';
ALTER TABLE "saved_searches" ADD CONSTRAINT "saved_searches_page_check" CHECK (page IN ('audit', 'requests', 'deletion-log'));
DROP INDEX "saved_searches_account_id_name_key";
CREATE UNIQUE INDEX "saved_searches_account_id_page_name_key" ON "saved_searches"("account_id", "page", "name");

-- Which notifications a person has read: kinds and ids. Their texts are computed.
CREATE TABLE "read_notices" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "notice" TEXT NOT NULL,
    "read_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "read_notices_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "read_notices_account_id_notice_key" ON "read_notices"("account_id", "notice");
ALTER TABLE "read_notices" ADD CONSTRAINT "read_notices_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Nothing new is written for an account whose erasure has begun.
CREATE TRIGGER read_notices_refuse_fenced AFTER INSERT ON read_notices REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
