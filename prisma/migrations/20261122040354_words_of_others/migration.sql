-- AlterTable
ALTER TABLE "privacy_requests" ADD COLUMN     "redacts" BOOLEAN NOT NULL DEFAULT false;
