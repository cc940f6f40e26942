-- AlterTable
ALTER TABLE "erasure_runs" ADD COLUMN     "read_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "complete_readings" (
    "id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),
    "is_repeated" BOOLEAN NOT NULL DEFAULT false,
    "receipts" TEXT[],
    "attestation" JSONB,

    CONSTRAINT "complete_readings_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "reading_stores" (
    "reading_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "store" TEXT NOT NULL,
    "cursor" TEXT,
    "started_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "texts" BIGINT NOT NULL DEFAULT 0,
    "units" BIGINT NOT NULL DEFAULT 0,
    "unread" JSONB NOT NULL DEFAULT '{}',
    "fault" TEXT,
    "fault_since" TIMESTAMPTZ(3),

    CONSTRAINT "reading_stores_pkey" PRIMARY KEY ("reading_id","holder")
);

-- CreateTable
CREATE TABLE "reading_findings" (
    "reading_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "erased" INTEGER NOT NULL DEFAULT 0,
    "left" INTEGER NOT NULL DEFAULT 0,
    "explained" INTEGER NOT NULL DEFAULT 0,
    "is_held" BOOLEAN NOT NULL DEFAULT false,
    "places" TEXT[],

    CONSTRAINT "reading_findings_pkey" PRIMARY KEY ("reading_id","receipt_id","holder")
);

-- CreateTable
CREATE TABLE "reading_pages" (
    "reading_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "page" TEXT NOT NULL,
    "items" TEXT[],
    "places" TEXT[],

    CONSTRAINT "reading_pages_pkey" PRIMARY KEY ("reading_id","receipt_id","holder","page")
);

-- CreateTable
CREATE TABLE "receipt_readings" (
    "receipt_id" TEXT NOT NULL,
    "statement" JSONB NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "receipt_readings_pkey" PRIMARY KEY ("receipt_id")
);

-- CreateIndex
CREATE INDEX "complete_readings_completed_at_idx" ON "complete_readings"("completed_at");

-- AddForeignKey
ALTER TABLE "reading_stores" ADD CONSTRAINT "reading_stores_reading_id_fkey" FOREIGN KEY ("reading_id") REFERENCES "complete_readings"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reading_findings" ADD CONSTRAINT "reading_findings_reading_id_fkey" FOREIGN KEY ("reading_id") REFERENCES "complete_readings"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reading_pages" ADD CONSTRAINT "reading_pages_reading_id_fkey" FOREIGN KEY ("reading_id") REFERENCES "complete_readings"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "receipt_readings" ADD CONSTRAINT "receipt_readings_receipt_id_fkey" FOREIGN KEY ("receipt_id") REFERENCES "erasures"("receipt_id") ON DELETE CASCADE ON UPDATE CASCADE;
