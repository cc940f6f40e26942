-- AlterTable
ALTER TABLE "tokens" ADD COLUMN     "owner_confirms" BOOLEAN NOT NULL DEFAULT false;
