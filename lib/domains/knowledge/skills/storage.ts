import type { Visibility } from '#lib/domains/knowledge/contract.ts'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { award } from '../reputation/service.ts'
import { rejectionWindow } from '../rules.ts'
import type { Skill, SkillSummary } from './contract.ts'
import type { PreparedSkill } from './preparation.ts'
import { insertSkillRow, replaceSkillRow, type SkillFile, type SkillRow, type WholeSkillRow } from './repository.ts'

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
    ...listedInstructions(row.instructions),
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

const valuesOf = ({ frontMatter, document, undeclaredTools, instructions, search, quality }: PreparedSkill) => ({
  name: frontMatter.name,
  description: frontMatter.description,
  frontMatter,
  document,
  undeclaredTools,
  instructions,
  search,
  quality,
})
/** The columns that are computed from the text of a skill. */
const storedOf = ({ frontMatter, document, undeclaredTools, instructions, quality, files }: PreparedSkill) => ({
  front_matter: frontMatter,
  document,
  files,
  undeclared_tools: undeclaredTools,
  instructions,
  quality_score: quality,
})

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
  const [stored] = await insertSkillRow(tx, {
    ...valuesOf(skill),
    id,
    author,
    organisation: organisationId,
    visibility,
    since,
    now,
  })
  if (!stored) return undefined
  await insertFiles(tx, id, skill.files)
  if (!isImport && !stored.quarantined) await award(tx, author, 'skill', [id], now)
  return {
    isQuarantined: stored.quarantined,
    row: { ...storedOf(skill), id, agent_id: author, visibility, version: 1, created_at: now, updated_at: now },
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
  const [changed] = await replaceSkillRow(tx, {
    ...valuesOf(skill),
    id: row.id,
    author: row.agent_id,
    visibility,
    isHeld,
    now,
  })
  if (!changed) return undefined
  await tx.skillFile.deleteMany({ where: { skillId: row.id } })
  await insertFiles(tx, row.id, skill.files)
  return { ...row, ...storedOf(skill), visibility, version: changed.version, updated_at: now }
}
