-- AlterTable
ALTER TABLE "reading_pages" ADD COLUMN     "until" TEXT;
