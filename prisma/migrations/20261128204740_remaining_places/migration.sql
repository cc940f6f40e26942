-- AlterTable
ALTER TABLE "reading_findings" DROP COLUMN "places";

-- AlterTable
ALTER TABLE "reading_pages" ADD COLUMN     "runs" BIGINT[] DEFAULT ARRAY[]::BIGINT[];

-- CreateTable
CREATE TABLE "remaining_places" (
    "id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "place" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "written_at" TIMESTAMPTZ(3),
    "first_found_at" TIMESTAMPTZ(3) NOT NULL,
    "last_found_at" TIMESTAMPTZ(3) NOT NULL,
    "reading_id" TEXT NOT NULL,
    "decision" TEXT,
    "decided_at" TIMESTAMPTZ(3),

    CONSTRAINT "remaining_places_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "remaining_places_first_found_at_id_idx" ON "remaining_places"("first_found_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "remaining_places_receipt_id_holder_place_key" ON "remaining_places"("receipt_id", "holder", "place");

-- AddForeignKey
ALTER TABLE "remaining_places" ADD CONSTRAINT "remaining_places_receipt_id_fkey" FOREIGN KEY ("receipt_id") REFERENCES "erasures"("receipt_id") ON DELETE CASCADE ON UPDATE CASCADE;
