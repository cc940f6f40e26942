-- AlterTable
ALTER TABLE "skills" ADD COLUMN     "instructions" JSONB;

-- AlterTable
ALTER TABLE "units" ADD COLUMN     "instructions" JSONB;
