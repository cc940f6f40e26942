-- Who added the address to a known participant or confirmed it. They cannot claim the participation with it, whatever address their account has
-- then. Addresses from before have nobody.
-- AlterTable
ALTER TABLE "project_participants" ADD COLUMN     "email_by" TEXT;

-- CreateIndex
CREATE INDEX "project_participants_email_by_idx" ON "project_participants"("email_by");

-- A legal hold preserves what a person is called and how to reach them, not who confirmed it.
DROP TRIGGER a_preserve_held ON project_participants;
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{email_by}', '{created_by,email_confirmed,restricted_at,restricted_for,updated_at}');
