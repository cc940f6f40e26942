-- Why a project is closed: the deletion log and the certificate say it 30 days later.
ALTER TABLE "projects" ADD COLUMN "closing_reason" TEXT;
