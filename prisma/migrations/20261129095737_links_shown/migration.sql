-- AlterTable
ALTER TABLE "account_links" ADD COLUMN     "shown_at" TIMESTAMPTZ(3);
