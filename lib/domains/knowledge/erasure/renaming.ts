import { weightedTextsOf } from '#lib/domains/knowledge/search/unit-texts.ts'
import { searchVector } from '#lib/domains/knowledge/search/vector.ts'
import { withAuthor } from '#lib/domains/knowledge/skills/author.ts'
import { parseSkillMd } from '#lib/domains/knowledge/skills/front-matter.ts'
import type { FrontMatter } from '#lib/domains/knowledge/skills/rules.ts'
import { skillTexts } from '#lib/domains/knowledge/skills/skill-texts.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { type Bearers, meansBy, meantMember, versionMeans } from './reference-meaning.ts'
import { renamed } from './suppression.ts'

interface UnitRow {
  id: string
  /** Those names whose bearer the record means. */
  meant: string[]
  document: Unit
  novelty: number | null
  attributed_to: string | null
  original_author: string | null
}
interface WordingRow {
  unit_id: string
  meant: string[]
  version: number
  document: Unit
  created_by: string
  approved_by: string | null
}
interface SkillRow {
  id: string
  meant: string[]
  document: string
  front_matter: FrontMatter
  files: { path: string; content: string }[]
}
/** Returns the replacement of a name, or the name itself. */
export type Renaming = (name: string) => string
export interface Renamings {
  bearers: Bearers
  /** Renames names written by authors; `meant` are those whose bearer the record means. */
  written(meant: readonly string[]): Renaming
  /** Renames names recorded by the registry: authors and approvers of versions. */
  recorded: Renaming
}

const meantOf = (means: string): string => `ARRAY(SELECT m.name FROM meant m WHERE ${means}) AS meant`
const withMeant = `WITH ${meantMember('$2', '$3', '$4')}`
const lockUnits = `${withMeant} SELECT u.id, ${meantOf(meansBy('u'))}, u.document, u.novelty, u.attributed_to, u.original_author FROM units u
  WHERE u.id = ANY($1::text[]) ORDER BY u.id FOR UPDATE OF u`
const readWordings = `${withMeant} SELECT v.unit_id, ${meantOf(versionMeans)}, v.version, v.document, v.created_by, v.approved_by
  FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE v.unit_id = ANY($1::text[])`
const updateUnits = `UPDATE units u SET document = coalesce(s.document, u.document), version = u.version + 1,
    attributed_to = s.attributed_to, original_author = s.original_author
  FROM json_to_recordset($1::json) AS s(id text, document jsonb, attributed_to text, original_author text) WHERE u.id = s.id`
const updateWordings = `UPDATE sop_versions v SET document = s.document, created_by = s.created_by, approved_by = s.approved_by
  FROM json_to_recordset($1::json) AS s(unit_id text, version int, document jsonb, created_by text, approved_by text)
  WHERE v.unit_id = s.unit_id AND v.version = s.version`

/** Renames in documents, columns and former versions of units. Score, votes and novelty stay. */
export async function renameUnits(
  tx: Transaction,
  ids: readonly string[],
  { bearers: { names, kinds, ids: of }, written, recorded }: Renamings,
): Promise<number> {
  if (ids.length === 0) return 0
  const values = [ids, names, kinds, of]
  const units = await queryWithin<UnitRow>(tx, 'lock-naming-units', lockUnits, values)
  const wordings = (await queryWithin<WordingRow>(tx, 'naming-wordings', readWordings, values)).flatMap((before) => {
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
  await queryWithin(tx, 'rename-in-units', updateUnits, [JSON.stringify(sent)])
  if (wordings.length > 0) await queryWithin(tx, 'rename-in-wordings', updateWordings, [JSON.stringify(wordings)])
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
  await queryWithin(
    tx,
    'rename-in-words',
    'UPDATE units u SET search = s.search::tsvector FROM unnest($1::text[], $2::text[]) AS s(id, search) WHERE u.id = s.id',
    [ids, rows.map(({ search }) => search)],
  )
  await queryWithin(
    tx,
    'keep-novelty',
    'UPDATE units u SET novelty = s.novelty FROM unnest($1::text[], $2::float8[]) AS s(id, novelty) WHERE u.id = s.id AND s.novelty IS NOT NULL',
    [ids, rows.map(({ novelty }) => novelty)],
  )
}

/** Renames in the front matter of skills, also in their full text; the rest of the front matter is unchanged. */
export async function renameSkills(
  tx: Transaction,
  ids: readonly string[],
  { bearers: { names, kinds, ids: of }, written }: Renamings,
): Promise<number> {
  if (ids.length === 0) return 0
  const skills = await queryWithin<SkillRow>(
    tx,
    'lock-naming-skills',
    `${withMeant} SELECT s.id, ${meantOf(meansBy('s'))}, s.document, s.front_matter, coalesce((SELECT json_agg(json_build_object('path', path, 'content', content) ORDER BY path)
       FROM skill_files f WHERE f.skill_id = s.id), '[]') AS files
     FROM skills s WHERE s.id = ANY($1::text[]) ORDER BY s.id FOR UPDATE OF s`,
    [ids, names, kinds, of],
  )
  let n = 0
  for (const { id, meant, document, front_matter, files } of skills) {
    const { author } = front_matter
    const to = written(meant)
    if (author === null || to(author) === author) continue
    const frontMatter = { ...front_matter, author: to(author) }
    const text = withAuthor(document, frontMatter.author)
    const search = searchVector(skillTexts(frontMatter, parseSkillMd(text).body, files))
    await tx.$executeRaw`UPDATE skills SET document = ${text}, front_matter = ${JSON.stringify(frontMatter)}::jsonb,
      search = ${search}::tsvector, version = version + 1 WHERE id = ${id}`
    n++
  }
  return n
}
