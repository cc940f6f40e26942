-- Strategy theses and playbooks are sealed with the installation's key. Existing rows remain valid; a job of the application seals them.
ALTER TABLE "agent_documents" ALTER COLUMN "title" DROP NOT NULL,
ALTER COLUMN "body" DROP NOT NULL,
ADD COLUMN     "sealed_title" BYTEA,
ADD COLUMN     "sealed_body" BYTEA;
ALTER TABLE agent_documents ADD CONSTRAINT agent_documents_is_sealed_or_open CHECK (
  (title IS NULL) = (sealed_title IS NOT NULL) AND (body IS NULL) = (sealed_body IS NOT NULL) AND (title IS NULL) = (body IS NULL));
CREATE INDEX agent_documents_open_idx ON agent_documents (id) WHERE body IS NOT NULL;

CREATE OR REPLACE FUNCTION public.count_changed_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
        DECLARE
          change BIGINT := (SELECT coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0) FROM (SELECT NEW.*) t) - (SELECT coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0) FROM (SELECT OLD.*) t);
        BEGIN
          IF change <> 0 THEN
            INSERT INTO storage_counts (agent_id, bytes, rows) SELECT t.agent_id, change, 0 FROM (SELECT NEW.*) t ;
          END IF;
          RETURN NULL;
        END $function$;

CREATE OR REPLACE FUNCTION public.count_deleted_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT h.id, -sum(coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0)), -1 * count(*) FROM gone t  JOIN agents h ON h.id = t.agent_id GROUP BY 1;
        RETURN NULL;
      END $function$;

CREATE OR REPLACE FUNCTION public.count_stored_agent_documents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
      BEGIN
        INSERT INTO storage_counts (agent_id, bytes, rows)
          SELECT t.agent_id, sum(coalesce(octet_length(t.title), 0) + coalesce(octet_length(t.body), 0) + coalesce(octet_length(t.sealed_title), 0) + coalesce(octet_length(t.sealed_body), 0)), 1 * count(*) FROM fresh t  GROUP BY 1;
        RETURN NULL;
      END $function$;

DROP TRIGGER agent_documents_count_changed ON agent_documents;
CREATE TRIGGER agent_documents_count_changed AFTER UPDATE OF title, body, sealed_title, sealed_body ON agent_documents
  FOR EACH ROW EXECUTE FUNCTION count_changed_agent_documents();

-- Every edit increases the revision. Sealing a held document again changes no content and preserves no version.
DROP TRIGGER a_preserve_held ON agent_documents;
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON agent_documents
  FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{title,body,sealed_title,sealed_body,updated_at}');
