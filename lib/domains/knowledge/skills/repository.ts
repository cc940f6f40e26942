import type { Visibility } from '#lib/domains/knowledge/contract.ts'
import { rejectionsToQuarantine } from '#lib/domains/knowledge/rules.ts'
import { listedRows } from '#lib/domains/knowledge/search/repository.ts'
import type { InstructionField } from '#lib/domains/sanitizer/contract.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { visibleTo } from '../repository.ts'
import type { FrontMatter } from './rules.ts'

export interface SkillFile {
  path: string
  content: string
  /** Bytes of UTF-8. */
  size: number
  /** Of the stored content, hexadecimal. */
  sha256: string
}

const listedColumns =
  'u.id, u.agent_id, u.visibility, u.front_matter, u.undeclared_tools, u.quality_score, u.instructions, u.version, u.created_at, u.updated_at'
const listedRow = {
  id: 'text',
  agent_id: 'text',
  visibility: typed<Visibility>('visibility'),
  front_matter: typed<FrontMatter>('jsonb'),
  undeclared_tools: 'text[]!',
  quality_score: 'float8',
  instructions: typed<InstructionField[] | null>('jsonb?'),
  version: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
/** A row of a list. */
export type SkillRow = RowOf<typeof listedRow>

/** Columns of a single skill `u`, with its text and files. */
export const skillColumns = `${listedColumns}, u.document, coalesce((
  SELECT json_agg(json_build_object('path', f.path, 'size', f.size, 'sha256', f.sha256, 'content', f.content) ORDER BY f.path)
  FROM skill_files f WHERE f.skill_id = u.id), '[]') AS files`
/** Types of {@link skillColumns}. */
export const skillRow = { ...listedRow, document: 'text', files: typed<SkillFile[]>('json') } as const
export type WholeSkillRow = RowOf<typeof skillRow>

const reader = { agents: 'text[]', organisation: 'text?', admin: 'bool' } as const

/** The skill, if the reader may see it. */
export const visibleSkill = statement('knowledge.visible-skill', {
  takes: { id: 'text', ...reader },
  returns: skillRow,
  isPrepared: true,
  sql: `SELECT ${skillColumns} FROM skills u WHERE u.id = $id AND ${visibleTo('$agents', '$organisation', '$admin')}`,
})
/** The locked skill, if the actor may change it: the author and its owner may, and admins unless it is private. */
export const lockChangeableSkill = statement('knowledge.lock-changeable-skill', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: skillRow,
  sql: `SELECT ${skillColumns} FROM skills u
    WHERE u.id = $id AND (u.agent_id = ANY($agents) OR ($isAdmin AND u.visibility <> 'private')) FOR NO KEY UPDATE`,
})

/** Number of files, and characters per file, in which a snippet may be found. */
const [searchedFiles, searchedCharacters] = [10, 16_000]
export const listedSkills = listedRows('knowledge.skills', {
  table: 'skills',
  returns: listedRow,
  columns: listedColumns,
})
/** Like {@link listedSkills}, with SKILL.md and the beginnings of some files. */
export const listedSkillsWithTexts = listedRows('knowledge.skills-with-texts', {
  table: 'skills',
  returns: { ...listedRow, texts: 'text[]' },
  columns: `${listedColumns}, ARRAY[u.document] || ARRAY(
    SELECT left(f.content, ${searchedCharacters}) FROM skill_files f WHERE f.skill_id = u.id ORDER BY f.path LIMIT ${searchedFiles}) AS texts`,
})

const written = {
  name: 'text',
  description: 'text',
  visibility: typed<Visibility>('visibility'),
  frontMatter: typed<FrontMatter>('jsonb'),
  document: 'text',
  undeclaredTools: 'text[]',
  instructions: typed<readonly InstructionField[]>('jsonb'),
  search: typed<string>('tsvector'),
  quality: 'float8',
  now: 'timestamptz',
} as const
/**
 * Returns no row if the author already has a skill of this name, or the id is in use. Quarantines the skill after several rejections since
 * `since`. An erased id fails with SQLSTATE KP410.
 */
export const insertSkillRow = statement('knowledge.insert-skill', {
  takes: { id: 'text', author: 'text', organisation: 'text', since: 'timestamptz', ...written },
  returns: { quarantined: 'bool' },
  sql: `INSERT INTO skills (id, agent_id, organisation_id, name, description, visibility, front_matter, document, undeclared_tools, search, quality_score, instructions, quarantined_at, created_at, updated_at)
    SELECT $id, $author, $organisation, $name, $description, $visibility, $frontMatter, $document, $undeclaredTools, $search, $quality, nullif($instructions, '[]'::jsonb),
      CASE WHEN (SELECT count(*) FROM content_rejections c WHERE c.agent_id = $author AND c.at > $since) >= ${rejectionsToQuarantine} THEN $now END,
      $now, $now
    ON CONFLICT DO NOTHING
    RETURNING quarantined_at IS NOT NULL AS quarantined`,
})
/** Overwrites a skill; quarantines it if `isHeld`. Returns no row if the author has another skill of this name. */
export const replaceSkillRow = statement('knowledge.replace-skill', {
  takes: { id: 'text', author: 'text', isHeld: 'bool', ...written },
  returns: { version: 'int4' },
  sql: `UPDATE skills SET name = $name, description = $description, visibility = $visibility, front_matter = $frontMatter,
      document = $document, undeclared_tools = $undeclaredTools, search = $search, quality_score = $quality,
      instructions = nullif($instructions, '[]'::jsonb),
      was_public = was_public OR (visibility = 'network' AND $visibility <> 'network'),
      quarantined_at = CASE WHEN $isHeld THEN coalesce(quarantined_at, $now) ELSE quarantined_at END,
      version = version + 1, updated_at = $now
    WHERE id = $id AND NOT EXISTS (SELECT FROM skills o WHERE o.agent_id = $author AND o.name = $name AND o.id <> $id)
    RETURNING version`,
})

/** The id, if the reader can see a skill with it and with the same content. */
export const sameSkill = statement('knowledge.same-skill', {
  takes: {
    id: 'text',
    document: 'text',
    ...reader,
    files: typed<readonly Pick<SkillFile, 'path' | 'sha256'>[]>('json'),
  },
  returns: { id: 'text' },
  sql: `SELECT u.id FROM skills u WHERE u.id = $id AND u.document = $document AND ${visibleTo('$agents', '$organisation', '$admin')}
    AND NOT EXISTS (SELECT FROM (SELECT path, sha256 FROM skill_files f WHERE f.skill_id = u.id) AS h
      FULL JOIN json_to_recordset($files) AS s(path text, sha256 text) USING (path) WHERE h.sha256 IS DISTINCT FROM s.sha256)`,
})
export const setImportSavepoint = statement('knowledge.set-import-savepoint', {
  takes: {},
  returns: 'count',
  sql: 'SAVEPOINT importing',
})
export const rollBackImport = statement('knowledge.roll-back-import', {
  takes: {},
  returns: 'count',
  sql: 'ROLLBACK TO SAVEPOINT importing',
})
