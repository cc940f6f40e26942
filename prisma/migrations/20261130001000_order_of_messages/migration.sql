-- The order in which messages were stored. Messages of one time have no other order. Older rows have none: adding one would rewrite the table.
CREATE SEQUENCE "messages_ordinal_seq" AS BIGINT;
ALTER TABLE "messages" ADD COLUMN "ordinal" BIGINT;
ALTER TABLE "messages" ALTER COLUMN "ordinal" SET DEFAULT nextval('messages_ordinal_seq');
ALTER SEQUENCE "messages_ordinal_seq" OWNED BY "messages"."ordinal";
