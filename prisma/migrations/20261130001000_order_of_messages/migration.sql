-- The order in which messages were stored. Messages of one time have no other order. Older rows have none: adding one would rewrite the table.
CREATE SEQUENCE "messages_ordinal_seq" AS BIGINT;
-- Servers of the previous version insert messages during this migration, before the rights of their role are granted anew.
DO $$ DECLARE role name; BEGIN
  FOR role IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND table_name = 'messages' AND privilege_type = 'INSERT' AND grantee <> current_user LOOP
    EXECUTE format('GRANT USAGE ON SEQUENCE "messages_ordinal_seq" TO %s', CASE role WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(role) END);
  END LOOP;
END $$;
ALTER TABLE "messages" ADD COLUMN "ordinal" BIGINT;
ALTER TABLE "messages" ALTER COLUMN "ordinal" SET DEFAULT nextval('messages_ordinal_seq');
ALTER SEQUENCE "messages_ordinal_seq" OWNED BY "messages"."ordinal";
