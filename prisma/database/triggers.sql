-- Triggers that the migrations created, in their current form. A test compares this file with a migrated database.
-- To change one, write a migration.

-- account_factors
CREATE TRIGGER account_factors_refuse_fenced AFTER INSERT ON account_factors REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- account_identities
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON account_identities FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{unlinked_at}');
CREATE TRIGGER account_identities_refuse_fenced AFTER INSERT ON account_identities REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- account_links
CREATE TRIGGER account_links_refuse_fenced AFTER INSERT ON account_links REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- account_recovery_codes
CREATE TRIGGER account_recovery_codes_refuse_fenced AFTER INSERT ON account_recovery_codes REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- accounts
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{password_hash,must_change_password,password_expires_at,wrong_codes,wrong_code_at,factor_reminded_at}', '{suspended_at,deactivated_at,restricted_at,restricted_for,email_verified_at,telemetry_off_at,updated_at}');
CREATE TRIGGER accounts_note_name_since BEFORE INSERT OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION note_name_since();

-- agent_documents
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON agent_documents FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{title,body,sealed_title,sealed_body,updated_at}');
CREATE TRIGGER agent_documents_count_changed AFTER UPDATE OF title, body, sealed_title, sealed_body ON agent_documents FOR EACH ROW EXECUTE FUNCTION count_changed_agent_documents();
CREATE TRIGGER agent_documents_count_deleted AFTER DELETE ON agent_documents REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_agent_documents();
CREATE TRIGGER agent_documents_count_stored AFTER INSERT ON agent_documents REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_agent_documents();
CREATE TRIGGER agent_documents_refuse_fenced AFTER INSERT ON agent_documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- agents
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON agents FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{network,shares_window,first_used_at}', '{suspended_at,restricted_at,restricted_for,status,status_at,died_at}');
CREATE TRIGGER agents_keep_region BEFORE UPDATE OF region ON agents FOR EACH ROW WHEN (old.region IS DISTINCT FROM new.region) EXECUTE FUNCTION refuse_other_region();
CREATE TRIGGER agents_refuse_fenced_claim AFTER UPDATE OF owner_id ON agents FOR EACH ROW WHEN (new.owner_id IS NOT NULL AND new.owner_id IS DISTINCT FROM old.owner_id) EXECUTE FUNCTION refuse_fenced_claim();
CREATE TRIGGER agents_refuse_fenced_insert AFTER INSERT ON agents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_owner();

-- approval_proposals
CREATE TRIGGER approval_proposals_refuse_fenced AFTER INSERT ON approval_proposals REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- attachments
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON attachments FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER attachments_count_changed AFTER UPDATE OF bytes ON attachments FOR EACH ROW EXECUTE FUNCTION count_changed_attachments();
CREATE TRIGGER attachments_count_deleted AFTER DELETE ON attachments REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_attachments();
CREATE TRIGGER attachments_count_stored AFTER INSERT ON attachments REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_attachments();
CREATE TRIGGER attachments_refuse_fenced AFTER INSERT ON attachments REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_of_message();

-- chain_references
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON chain_references FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER chain_references_count_deleted AFTER DELETE ON chain_references REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_chain_references();
CREATE TRIGGER chain_references_count_stored AFTER INSERT ON chain_references REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_chain_references();
CREATE TRIGGER chain_references_refuse_fenced AFTER INSERT ON chain_references REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- clade_deltas
CREATE TRIGGER clade_deltas_refuse_fenced AFTER INSERT ON clade_deltas REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- clade_shares
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON clade_shares FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{sealed}');
CREATE TRIGGER clade_shares_refuse_fenced AFTER INSERT ON clade_shares REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- content_rejections
CREATE TRIGGER content_rejections_refuse_fenced AFTER INSERT ON content_rejections REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_rejected();

-- conversations
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON conversations FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{created_by,erasing_since,updated_at}');
CREATE TRIGGER conversations_count_deleted AFTER DELETE ON conversations REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_conversations();
CREATE TRIGGER conversations_count_stored AFTER INSERT ON conversations REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_conversations();
CREATE TRIGGER conversations_keep_region BEFORE UPDATE OF region ON conversations FOR EACH ROW WHEN (old.region IS DISTINCT FROM new.region) EXECUTE FUNCTION refuse_other_conversation_region();
CREATE TRIGGER conversations_refuse_fenced AFTER INSERT ON conversations REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_conversation();

-- document_chunks
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON document_chunks FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER document_chunks_refuse_fenced AFTER INSERT ON document_chunks REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_chunk();

-- documents
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON documents FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{written_by,erasing_since,updated_at}');
CREATE TRIGGER documents_count_changed AFTER UPDATE OF bytes ON documents FOR EACH ROW EXECUTE FUNCTION count_changed_documents();
CREATE TRIGGER documents_count_deleted AFTER DELETE ON documents REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_documents();
CREATE TRIGGER documents_count_stored AFTER INSERT ON documents REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_documents();
CREATE TRIGGER documents_refuse_fenced AFTER INSERT ON documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_document();
CREATE TRIGGER documents_refuse_fenced_delegate AFTER INSERT ON documents REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_delegate();

-- email_choices
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON email_choices FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{updated_at}');
CREATE TRIGGER email_choices_refuse_fenced AFTER INSERT ON email_choices REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- export_runs
CREATE TRIGGER export_runs_refuse_fenced AFTER INSERT ON export_runs REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_exported();

-- grimoire_entries
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON grimoire_entries FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{sealed,updated_at}');
CREATE TRIGGER grimoire_entries_count_changed AFTER UPDATE OF envelope, sealed ON grimoire_entries FOR EACH ROW EXECUTE FUNCTION count_changed_grimoire_entries();
CREATE TRIGGER grimoire_entries_count_deleted AFTER DELETE ON grimoire_entries REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_grimoire_entries();
CREATE TRIGGER grimoire_entries_count_stored AFTER INSERT ON grimoire_entries REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_grimoire_entries();
CREATE TRIGGER grimoire_entries_refuse_fenced AFTER INSERT ON grimoire_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- heartbeats
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON heartbeats FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER heartbeats_count_deleted AFTER DELETE ON heartbeats REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_heartbeats();
CREATE TRIGGER heartbeats_count_stored AFTER INSERT ON heartbeats REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_heartbeats();
CREATE TRIGGER heartbeats_refuse_fenced AFTER INSERT ON heartbeats REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- keyrings
CREATE TRIGGER keyrings_refuse_fenced AFTER INSERT ON keyrings REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- llm_log_entries
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON llm_log_entries FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{sealed}');
CREATE TRIGGER llm_log_entries_count_deleted AFTER DELETE ON llm_log_entries REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_llm_log_entries();
CREATE TRIGGER llm_log_entries_count_stored AFTER INSERT ON llm_log_entries REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_llm_log_entries();
CREATE TRIGGER llm_log_entries_refuse_fenced AFTER INSERT ON llm_log_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- message_edits
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON message_edits FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{edited_by}');
CREATE TRIGGER message_edits_count_deleted AFTER DELETE ON message_edits REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_message_edits();
CREATE TRIGGER message_edits_count_stored AFTER INSERT ON message_edits REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_message_edits();
CREATE TRIGGER message_edits_refuse_fenced AFTER INSERT ON message_edits REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_of_message();

-- messages
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{written_by,erasing_since,updated_at}');
CREATE TRIGGER messages_count_changed AFTER UPDATE OF content ON messages FOR EACH ROW EXECUTE FUNCTION count_changed_messages();
CREATE TRIGGER messages_count_children BEFORE DELETE ON messages FOR EACH ROW EXECUTE FUNCTION count_children_of_message();
CREATE TRIGGER messages_count_deleted AFTER DELETE ON messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_messages();
CREATE TRIGGER messages_count_stored AFTER INSERT ON messages REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_messages();
CREATE TRIGGER messages_refuse_fenced AFTER INSERT ON messages REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_message();
CREATE TRIGGER messages_refuse_fenced_delegate AFTER INSERT ON messages REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_delegate();

-- performance_cards
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON performance_cards FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{published_at}');
CREATE TRIGGER performance_cards_refuse_fenced AFTER INSERT ON performance_cards REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- prepared_exports
CREATE TRIGGER prepared_exports_refuse_fenced AFTER INSERT ON prepared_exports REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_prepared();

-- project_members
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON project_members FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{added_by}');
CREATE TRIGGER project_members_refuse_fenced AFTER INSERT ON project_members REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_member();

-- project_participants
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{email_by}', '{created_by,email_confirmed,restricted_at,restricted_for,updated_at}');
CREATE TRIGGER project_participants_count_deleted AFTER DELETE ON project_participants REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_project_participants();
CREATE TRIGGER project_participants_count_stored AFTER INSERT ON project_participants REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_project_participants();
CREATE TRIGGER project_participants_note_name_since BEFORE INSERT OR UPDATE ON project_participants FOR EACH ROW EXECUTE FUNCTION note_name_since();
CREATE TRIGGER project_participants_refuse_fenced AFTER INSERT ON project_participants REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_participant();
CREATE TRIGGER project_participants_refuse_fenced_claim AFTER UPDATE OF account_id ON project_participants FOR EACH ROW EXECUTE FUNCTION refuse_fenced_participation_claim();

-- projects
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON projects FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{created_by,status,closing_at,closes_at,closing_by,closing_reason,letters_sent,closed_at,receipt_id,erasing_since,updated_at}');
CREATE TRIGGER projects_refuse_fenced AFTER INSERT ON projects REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_project();

-- provenance
CREATE TRIGGER provenance_count_deleted AFTER DELETE ON provenance REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_provenance();
CREATE TRIGGER provenance_count_stored AFTER INSERT ON provenance REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_provenance();
CREATE TRIGGER provenance_refuse_fenced AFTER INSERT ON provenance REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_pointer();

-- read_notices
CREATE TRIGGER read_notices_refuse_fenced AFTER INSERT ON read_notices REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- saved_searches
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON saved_searches FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER saved_searches_refuse_fenced AFTER INSERT ON saved_searches REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- sessions
CREATE TRIGGER sessions_refuse_fenced AFTER INSERT ON sessions REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_account();

-- skill_files
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON skill_files FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{}');
CREATE TRIGGER skill_files_count_changed AFTER UPDATE OF size ON skill_files FOR EACH ROW EXECUTE FUNCTION count_changed_skill_files();
CREATE TRIGGER skill_files_count_deleted AFTER DELETE ON skill_files REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_skill_files();
CREATE TRIGGER skill_files_count_stored AFTER INSERT ON skill_files REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_skill_files();

-- skills
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON skills FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{search,scope}', '{quality_score,version,quarantined_at,updated_at}');
CREATE TRIGGER skills_count_changed AFTER UPDATE OF document ON skills FOR EACH ROW EXECUTE FUNCTION count_changed_skills();
CREATE TRIGGER skills_count_children BEFORE DELETE ON skills FOR EACH ROW EXECUTE FUNCTION count_children_of_skill();
CREATE TRIGGER skills_count_deleted AFTER DELETE ON skills REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_skills();
CREATE TRIGGER skills_count_stored AFTER INSERT ON skills REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_skills();
CREATE TRIGGER skills_forget_former_words AFTER UPDATE OF search, visibility, organisation_id, quarantined_at ON skills FOR EACH ROW EXECUTE FUNCTION forget_former_words();
CREATE TRIGGER skills_forget_gone_words AFTER DELETE ON skills REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_gone_words();
CREATE TRIGGER skills_note_words AFTER INSERT ON skills REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER skills_refuse_erased AFTER INSERT ON skills REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_erased();

-- snapshot_links
CREATE TRIGGER snapshot_links_refuse_fenced AFTER INSERT ON snapshot_links REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- snapshots
CREATE TRIGGER snapshots_count_changed AFTER UPDATE OF bytes ON snapshots FOR EACH ROW EXECUTE FUNCTION count_changed_snapshots();
CREATE TRIGGER snapshots_count_deleted AFTER DELETE ON snapshots REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_snapshots();
CREATE TRIGGER snapshots_count_stored AFTER INSERT ON snapshots REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_snapshots();
CREATE TRIGGER snapshots_refuse_fenced AFTER INSERT ON snapshots REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- sop_versions
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON sop_versions FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{}', '{created_by,approved_by}');
CREATE TRIGGER sop_versions_count_changed AFTER UPDATE OF document ON sop_versions FOR EACH ROW EXECUTE FUNCTION count_changed_sop_versions();
CREATE TRIGGER sop_versions_count_deleted AFTER DELETE ON sop_versions REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_sop_versions();
CREATE TRIGGER sop_versions_count_stored AFTER INSERT ON sop_versions REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_sop_versions();

-- state_bundles
CREATE TRIGGER state_bundles_count_changed AFTER UPDATE OF bytes ON state_bundles FOR EACH ROW EXECUTE FUNCTION count_changed_state_bundles();
CREATE TRIGGER state_bundles_count_deleted AFTER DELETE ON state_bundles REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_state_bundles();
CREATE TRIGGER state_bundles_count_stored AFTER INSERT ON state_bundles REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_state_bundles();
CREATE TRIGGER state_bundles_refuse_fenced AFTER INSERT ON state_bundles REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- telemetry_keys
CREATE TRIGGER telemetry_keys_refuse_fenced AFTER INSERT ON telemetry_keys REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_told_apart();

-- tokens
CREATE TRIGGER tokens_refuse_fenced AFTER INSERT ON tokens REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_agent();

-- unit_reports
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON unit_reports FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{network}', '{owner_key,settled_at}');
CREATE TRIGGER unit_reports_refuse_fenced AFTER INSERT ON unit_reports REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_reporter();

-- unit_votes
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON unit_votes FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{network}', '{owner_key,weight}');
CREATE TRIGGER unit_votes_refuse_fenced AFTER INSERT ON unit_votes REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_fenced_voter();

-- units
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON units FOR EACH ROW EXECUTE FUNCTION preserve_held_version('{search,scope}', '{quality_score,novelty,votes_for,votes_against,version,quarantined_at,updated_at}');
CREATE TRIGGER units_count_changed AFTER UPDATE OF document ON units FOR EACH ROW EXECUTE FUNCTION count_changed_units();
CREATE TRIGGER units_count_children BEFORE DELETE ON units FOR EACH ROW WHEN (old.type = 'ExpertSOP'::unit_type) EXECUTE FUNCTION count_children_of_unit();
CREATE TRIGGER units_count_deleted AFTER DELETE ON units REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_units();
CREATE TRIGGER units_count_stored AFTER INSERT ON units REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_stored_units();
CREATE TRIGGER units_forget_former_words AFTER UPDATE OF search, visibility, organisation_id, quarantined_at ON units FOR EACH ROW EXECUTE FUNCTION forget_former_words();
CREATE TRIGGER units_forget_gone_words AFTER DELETE ON units REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_gone_words();
CREATE TRIGGER units_judge_again BEFORE UPDATE OF search ON units FOR EACH ROW WHEN (old.search IS NOT NULL) EXECUTE FUNCTION judge_again();
CREATE TRIGGER units_note_words AFTER INSERT ON units REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_words();
CREATE TRIGGER units_refuse_erased AFTER INSERT ON units REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_erased();
