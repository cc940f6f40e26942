-- AlterTable
ALTER TABLE "reading_findings" ADD COLUMN     "names_erased" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "names_listed" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "reading_pages" ADD COLUMN     "names" BIGINT[] DEFAULT ARRAY[]::BIGINT[];
