-- A link ends with the token or session that created it. Earlier links have neither, and expire within four hours.
-- AlterTable
ALTER TABLE "snapshot_links" ADD COLUMN     "session_id" TEXT,
ADD COLUMN     "token_id" TEXT;
