-- AlterTable
ALTER TABLE "rate_limit_refusals" ADD COLUMN     "window_ends" TIMESTAMPTZ(3);

-- CreateIndex
CREATE UNIQUE INDEX "rate_limit_refusals_limit_key_request_class_window_ends_key" ON "rate_limit_refusals"("limit_key", "request_class", "window_ends");
