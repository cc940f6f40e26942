-- What is made from a message is written neither while its own writer is erased nor while the message's is: the plan would not have it, and
-- once the message is gone nobody finds it. So with pointers to where such a document went.
CREATE OR REPLACE FUNCTION refuse_fenced_document() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(
    SELECT writer_name(author_kind, author_id) FROM inserted
    UNION SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON m.id = i.made_from));
  PERFORM refuse_erased_ids(ARRAY(SELECT id FROM inserted));
  PERFORM refuse_into_projects(ARRAY(SELECT DISTINCT project_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT made_from FROM inserted) ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE i.made_from IS NOT NULL AND NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id
      WHERE m.id = i.made_from AND m.project_id = i.project_id AND m.erasing_since IS NULL AND c.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION refuse_fenced_pointer() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM refuse_writers(ARRAY(
    SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN messages m ON i.source_kind = 'message' AND m.id = i.source_id
    UNION SELECT writer_name(d.author_kind, d.author_id) FROM inserted i JOIN documents d ON i.source_kind = 'document' AND d.id = i.source_id
    UNION SELECT writer_name(m.author_kind, m.author_id) FROM inserted i JOIN documents d ON i.source_kind = 'document' AND d.id = i.source_id
      JOIN messages m ON m.id = d.made_from));
  PERFORM refuse_erased_ids(ARRAY(SELECT DISTINCT source_id FROM inserted));
  PERFORM FROM messages WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'message') ORDER BY id FOR KEY SHARE;
  PERFORM FROM documents WHERE id IN (SELECT source_id FROM inserted WHERE source_kind = 'document') ORDER BY id FOR KEY SHARE;
  IF EXISTS (SELECT FROM inserted i WHERE NOT EXISTS (
      SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id JOIN projects p ON p.id = m.project_id
        WHERE i.source_kind = 'message' AND m.id = i.source_id
          AND m.erasing_since IS NULL AND c.erasing_since IS NULL AND p.erasing_since IS NULL
      UNION ALL SELECT FROM documents d JOIN projects p ON p.id = d.project_id
        WHERE i.source_kind = 'document' AND d.id = i.source_id AND d.erasing_since IS NULL AND p.erasing_since IS NULL)) THEN
    RAISE EXCEPTION 'fenced' USING ERRCODE = 'KP423';
  END IF;
  RETURN NULL;
END $$;
