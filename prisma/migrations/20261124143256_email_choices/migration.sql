-- When a person gets emails of a kind that can be turned off. Without a row, the usual delivery of the kind applies.
CREATE TABLE "email_choices" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "delivery" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT "email_choices_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "email_choices_delivery" CHECK (delivery IN ('at_once', 'daily', 'never'))
);
CREATE UNIQUE INDEX "email_choices_account_id_kind_key" ON "email_choices"("account_id", "kind");
ALTER TABLE "email_choices" ADD CONSTRAINT "email_choices_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Nothing is added to an account while it is being erased.
CREATE TRIGGER email_choices_refuse_fenced AFTER INSERT ON email_choices REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();
