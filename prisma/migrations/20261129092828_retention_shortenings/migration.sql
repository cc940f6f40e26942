-- CreateTable
CREATE TABLE "retention_shortenings" (
    "visibility" "visibility" NOT NULL,
    "days" INTEGER NOT NULL,
    "is_reset" BOOLEAN NOT NULL DEFAULT false,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "set_by" TEXT NOT NULL,
    "set_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "retention_shortenings_pkey" PRIMARY KEY ("visibility")
);
