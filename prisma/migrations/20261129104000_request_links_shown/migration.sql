-- AlterTable
ALTER TABLE "privacy_links" ADD COLUMN     "shown_at" TIMESTAMPTZ(3);
