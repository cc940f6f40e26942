import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { award } from '../reputation/award.ts'
import { rejectionsToQuarantine, rejectionWindow } from '../rules.ts'
import type { Skill, SkillSummary } from './contract.ts'
import type { PreparedSkill, SkillFile } from './preparation.ts'
import type { FrontMatter } from './rules.ts'

type Visibility = SkillSummary['visibility']

/** A row of a list. */
export interface SkillRow {
  id: string
  agent_id: string
  visibility: Visibility
  front_matter: FrontMatter
  undeclared_tools: string[]
  quality_score: number
  version: number
  created_at: Date
  updated_at: Date
}
/** A row of a single skill, with its text and files. */
export interface WholeSkillRow extends SkillRow {
  document: string
  files: SkillFile[]
}
const listed =
  'u.id, u.agent_id, u.visibility::text, u.front_matter, u.undeclared_tools, u.quality_score, u.version, u.created_at, u.updated_at'
/** Columns of the skill `u`. */
export const skillColumns = listed
export const wholeSkillColumns = `${listed}, u.document, coalesce((
  SELECT json_agg(json_build_object('path', f.path, 'size', f.size, 'sha256', f.sha256, 'content', f.content) ORDER BY f.path)
  FROM skill_files f WHERE f.skill_id = u.id), '[]') AS files`

export const skillEtag = (version: number): string => `"v${version}"`

/** The API form of a listed skill. */
export function summaryOf(row: SkillRow): SkillSummary {
  const { kp: _, title = null, ...described } = row.front_matter
  return {
    id: row.id,
    agent_id: row.agent_id,
    ...described,
    title,
    visibility: row.visibility,
    quality_score: row.quality_score,
    misrepresents: row.undeclared_tools.length > 0,
    undeclared_tools: row.undeclared_tools,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}
export const wholeSkillOf = (row: WholeSkillRow): Skill => ({
  ...summaryOf(row),
  kp: row.front_matter.kp,
  skill_md: row.document,
  files: row.files.map(({ path, size, sha256, content }) => ({ path, size, sha256, content })),
})

export interface SkillPlacement {
  /** The id from an export; otherwise a new one is created. */
  id?: string
  author: string
  organisationId: string
  visibility: Visibility
  now: Date
  /** Imported skills earn no reputation. */
  isImport?: boolean
}

async function insertFiles(tx: Transaction, id: string, files: readonly SkillFile[]): Promise<void> {
  if (files.length === 0) return
  await tx.skillFile.createMany({ data: files.map((file) => ({ skillId: id, ...file })) })
}

/**
 * Stores a prepared skill with its files and its author's reputation in the caller's transaction; the caller writes the audit entry.
 * Returns undefined without storing anything if the author already has a skill of this name or the id is in use. An erased id fails with
 * SQLSTATE KP410.
 */
export async function insertSkill(
  tx: Transaction,
  skill: PreparedSkill,
  {
    id = `kp:skill:${newUuid().replaceAll('-', '')}`,
    author,
    organisationId,
    visibility,
    now,
    isImport = false,
  }: SkillPlacement,
): Promise<{ row: WholeSkillRow; isQuarantined: boolean } | undefined> {
  const since = new Date(now.getTime() - rejectionWindow)
  const [stored] = await tx.$queryRaw<{ quarantined: boolean }[]>`
    INSERT INTO skills (id, agent_id, organisation_id, name, description, visibility, front_matter, document, undeclared_tools, search, quality_score, quarantined_at, created_at, updated_at)
    SELECT ${id}, ${author}, ${organisationId}, ${skill.frontMatter.name}, ${skill.frontMatter.description}, ${visibility}::visibility,
      ${JSON.stringify(skill.frontMatter)}::jsonb, ${skill.document}, ${skill.undeclaredTools}::text[], ${skill.search}::tsvector, ${skill.quality}::float8,
      CASE WHEN (SELECT count(*) FROM content_rejections c WHERE c.agent_id = ${author} AND c.at > ${since}) >= ${rejectionsToQuarantine}::int THEN ${now}::timestamptz END,
      ${now}, ${now}
    ON CONFLICT DO NOTHING
    RETURNING quarantined_at IS NOT NULL AS quarantined`
  if (!stored) return undefined
  await insertFiles(tx, id, skill.files)
  if (!isImport && !stored.quarantined) await award(tx, author, 'skill', [id], now)
  return {
    isQuarantined: stored.quarantined,
    row: {
      id,
      agent_id: author,
      visibility,
      front_matter: skill.frontMatter,
      undeclared_tools: skill.undeclaredTools,
      quality_score: skill.quality,
      version: 1,
      created_at: now,
      updated_at: now,
      document: skill.document,
      files: skill.files,
    },
  }
}

/**
 * Overwrites a skill's locked row; the old content is not kept. Quarantines the skill if `isHeld`. Returns undefined if the author has
 * another skill of this name.
 */
export async function replaceSkill(
  tx: Transaction,
  row: WholeSkillRow,
  skill: PreparedSkill,
  { visibility, isHeld, now }: { visibility: Visibility; isHeld: boolean; now: Date },
): Promise<WholeSkillRow | undefined> {
  const { name, description } = skill.frontMatter
  const [changed] = await tx.$queryRaw<{ version: number }[]>`
    UPDATE skills SET name = ${name}, description = ${description}, visibility = ${visibility}::visibility,
      front_matter = ${JSON.stringify(skill.frontMatter)}::jsonb, document = ${skill.document}, undeclared_tools = ${skill.undeclaredTools}::text[],
      search = ${skill.search}::tsvector, quality_score = ${skill.quality}::float8,
      was_public = was_public OR (visibility = 'network' AND ${visibility} <> 'network'),
      quarantined_at = CASE WHEN ${isHeld} THEN coalesce(quarantined_at, ${now}::timestamptz) ELSE quarantined_at END,
      version = version + 1, updated_at = ${now}
    WHERE id = ${row.id} AND NOT EXISTS (SELECT FROM skills o WHERE o.agent_id = ${row.agent_id} AND o.name = ${name} AND o.id <> ${row.id})
    RETURNING version`
  if (!changed) return undefined
  await tx.skillFile.deleteMany({ where: { skillId: row.id } })
  await insertFiles(tx, row.id, skill.files)
  return {
    ...row,
    visibility,
    front_matter: skill.frontMatter,
    undeclared_tools: skill.undeclaredTools,
    quality_score: skill.quality,
    version: changed.version,
    updated_at: now,
    document: skill.document,
    files: skill.files,
  }
}
