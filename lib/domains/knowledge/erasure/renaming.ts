import { weightedTextsOf } from '#lib/domains/knowledge/search/unit-texts.ts'
import { searchVector } from '#lib/domains/knowledge/search/vector.ts'
import { withAuthor } from '#lib/domains/knowledge/skills/author.ts'
import { parseSkillMd } from '#lib/domains/knowledge/skills/front-matter.ts'
import { skillTexts } from '#lib/domains/knowledge/skills/skill-texts.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Bearers } from './reference-meaning.ts'
import {
  lockSkillsToRename,
  lockUnitsToRename,
  renameInSearch,
  renameInSkill,
  renameInUnits,
  renameInVersions,
  restoreNovelty,
  versionsToRename,
} from './repository.ts'
import { renamed } from './suppression.ts'

/** Returns the replacement of a name, or the name itself. */
export type Renaming = (name: string) => string
export interface Renamings {
  bearers: Bearers
  /** Renames names written by authors; `meant` are those whose bearer the record means. */
  written(meant: readonly string[]): Renaming
  /** Renames names recorded by the registry: authors and approvers of versions. */
  recorded: Renaming
}

/** Renames in documents, columns and former versions of units. Score, votes and novelty stay. */
export async function renameUnits(
  tx: Transaction,
  ids: readonly string[],
  { bearers, written, recorded }: Renamings,
): Promise<number> {
  if (ids.length === 0) return 0
  const values = { ...bearers, records: ids }
  const units = await lockUnitsToRename(tx, values)
  const wordings = (await versionsToRename(tx, values)).flatMap((before) => {
    const after = {
      ...before,
      document: renamed(before.document, written(before.meant)),
      created_by: recorded(before.created_by),
      approved_by: before.approved_by === null ? null : recorded(before.approved_by),
    }
    const isSame =
      after.document === before.document &&
      after.created_by === before.created_by &&
      after.approved_by === before.approved_by
    return isSame ? [] : [after]
  })
  const ofWording = new Set(wordings.map(({ unit_id }) => unit_id))
  const changed = units.flatMap((before) => {
    const to = written(before.meant)
    const document = renamed(before.document, to)
    const attributed_to = before.attributed_to === null ? null : to(before.attributed_to)
    const original_author = before.original_author === null ? null : to(before.original_author)
    const isSame =
      document === before.document &&
      attributed_to === before.attributed_to &&
      original_author === before.original_author &&
      !ofWording.has(before.id)
    return isSame ? [] : [{ before, id: before.id, document, attributed_to, original_author }]
  })
  if (changed.length === 0) return 0
  const sent = changed.map(({ before, document, ...row }) => ({
    ...row,
    document: document === before.document ? null : document,
  }))
  await renameInUnits(tx, { rows: sent })
  if (wordings.length > 0) await renameInVersions(tx, { rows: wordings })
  // Of the fields that may change, only an SOP's expert is searchable.
  const records = changed.filter(
    ({ before, document }) =>
      document['@type'] === 'ExpertSOP' &&
      before.document['@type'] === 'ExpertSOP' &&
      document.source.expert_id !== before.document.source.expert_id,
  )
  await renameWords(
    tx,
    records.map(({ id, document, before: { novelty } }) => ({
      id,
      novelty,
      search: searchVector(weightedTextsOf({ ...document, id })),
    })),
  )
  return changed.length
}

/** A database trigger resets the novelty of a changed text. Here only a name changes, so the novelty is restored. */
async function renameWords(tx: Transaction, rows: readonly { id: string; novelty: number | null; search: string }[]) {
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  await renameInSearch(tx, { ids, vectors: rows.map(({ search }) => search) })
  await restoreNovelty(tx, { ids, novelties: rows.map(({ novelty }) => novelty) })
}

/** Renames in the front matter of skills, also in their full text; the rest of the front matter is unchanged. */
export async function renameSkills(
  tx: Transaction,
  ids: readonly string[],
  { bearers, written }: Renamings,
): Promise<number> {
  if (ids.length === 0) return 0
  const skills = await lockSkillsToRename(tx, { ...bearers, records: ids })
  let n = 0
  for (const { id, meant, document, front_matter, files } of skills) {
    const { author } = front_matter
    const to = written(meant)
    if (author === null || to(author) === author) continue
    const frontMatter = { ...front_matter, author: to(author) }
    const text = withAuthor(document, frontMatter.author)
    const search = searchVector(skillTexts(frontMatter, parseSkillMd(text).body, files))
    await renameInSkill(tx, { id, document: text, frontMatter, search })
    n++
  }
  return n
}
