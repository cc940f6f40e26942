import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Subject } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding, type PlannedRow, plannedOf } from '#lib/stores/postgres/held-rows.ts'
import { holdMembers, holdOf, joinHolds } from './held.ts'
import { textsOf } from './search/unit-texts.ts'
import { searchVector } from './search/vector.ts'
import { withAuthor } from './skills/author.ts'
import { parseSkillMd } from './skills/front-matter.ts'
import type { FrontMatter } from './skills/rules.ts'
import { skillTexts } from './skills/skill-texts.ts'
import type { KnowledgeParts } from './stored-unit.ts'
import { namesOf, subjectOf } from './subject.ts'
import { type PseudonymOf, renamed } from './suppression.ts'
import type { Unit } from './unit.ts'

const validated = "document->'metadata'->'validated_by'"
/** Units in which one of the names $1 stands for somebody, in any wording; each place has its index. */
const naming = `SELECT id FROM units WHERE attributed_to = ANY($1::text[])
  UNION SELECT id FROM units WHERE original_author = ANY($1::text[])
  UNION SELECT u.id FROM unnest($1::text[]) AS n(name) JOIN units u ON u.${validated} IS NOT NULL AND u.${validated} @> to_jsonb(n.name)
  UNION SELECT unit_id FROM sop_versions WHERE document->'source'->>'expert_id' = ANY($1::text[])
  UNION SELECT v.unit_id FROM unnest($1::text[]) AS n(name) JOIN sop_versions v ON v.${validated} IS NOT NULL AND v.${validated} @> to_jsonb(n.name)
  UNION SELECT unit_id FROM sop_versions WHERE created_by = ANY($1::text[])
  UNION SELECT unit_id FROM sop_versions WHERE approved_by IS NOT NULL AND approved_by = ANY($1::text[])`
const skillsNaming = `SELECT id FROM skills WHERE front_matter->>'author' IS NOT NULL AND front_matter->>'author' = ANY($1::text[])`

/** $1 the names, $2 the agents of the subject, whose own records go, $3 the present. */
const planUnits = `WITH ${holdMembers('unit', '$3')}
  SELECT u.id, ${holdOf} AS hold FROM (${naming}) AS f JOIN units u ON u.id = f.id ${joinHolds('u')} WHERE u.agent_id <> ALL($2::text[])`
const planSkills = `WITH ${holdMembers('skill', '$3')}
  SELECT s.id, ${holdOf} AS hold FROM (${skillsNaming}) AS f JOIN skills s ON s.id = f.id ${joinHolds('s')} WHERE s.agent_id <> ALL($2::text[])`
const countOf = (plan: string): string => `SELECT count(*)::int AS n FROM (${plan}) AS p WHERE p.hold IS NULL`
/** By what the documents themselves say in these places. */
const countInDocuments = `SELECT ((SELECT count(*) FROM units u WHERE u.id = ANY($2::text[])
    AND (u.document->'source'->>'expert_id' = ANY($1::text[]) OR u.${validated} ?| $1::text[]))
  + (SELECT count(*) FROM sop_versions v WHERE v.unit_id = ANY($2::text[])
    AND (v.document->'source'->>'expert_id' = ANY($1::text[]) OR v.${validated} ?| $1::text[]))
  + (SELECT count(*) FROM skills s WHERE s.id = ANY($2::text[]) AND s.front_matter->>'author' = ANY($1::text[])))::int AS n`

interface UnitRow {
  id: string
  document: Unit
  novelty: number | null
  attributed_to: string | null
  original_author: string | null
}
interface WordingRow {
  unit_id: string
  version: number
  document: Unit
  created_by: string
  approved_by: string | null
}
interface SkillRow {
  id: string
  document: string
  front_matter: FrontMatter
  files: { path: string; content: string }[]
}
type Renaming = (name: string) => string

const lockUnits = `SELECT id, document, novelty, attributed_to, original_author FROM units
  WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`
const readWordings = `SELECT unit_id, version, document, created_by, approved_by FROM sop_versions WHERE unit_id = ANY($1::text[])`
const updateUnits = `UPDATE units u SET document = coalesce(s.document, u.document), version = u.version + 1,
    attributed_to = s.attributed_to, original_author = s.original_author
  FROM json_to_recordset($1::json) AS s(id text, document jsonb, attributed_to text, original_author text) WHERE u.id = s.id`
const updateWordings = `UPDATE sop_versions v SET document = s.document, created_by = s.created_by, approved_by = s.approved_by
  FROM json_to_recordset($1::json) AS s(unit_id text, version int, document jsonb, created_by text, approved_by text)
  WHERE v.unit_id = s.unit_id AND v.version = s.version`

/** The documents and columns of units, and their former wordings. What was found of them stays: score, votes, novelty. */
async function renameUnits(tx: Transaction, ids: readonly string[], to: Renaming): Promise<number> {
  const toOrNull = (name: string | null): string | null => (name === null ? null : to(name))
  const units = await queryWithin<UnitRow>(tx, 'lock-naming-units', lockUnits, [ids])
  const wordings = (await queryWithin<WordingRow>(tx, 'naming-wordings', readWordings, [ids])).flatMap((before) => {
    const after = {
      ...before,
      document: renamed(before.document, to),
      created_by: to(before.created_by),
      approved_by: toOrNull(before.approved_by),
    }
    const isSame =
      after.document === before.document &&
      after.created_by === before.created_by &&
      after.approved_by === before.approved_by
    return isSame ? [] : [after]
  })
  const ofWording = new Set(wordings.map(({ unit_id }) => unit_id))
  const changed = units.flatMap((before) => {
    const document = renamed(before.document, to)
    const attributed_to = toOrNull(before.attributed_to)
    const original_author = toOrNull(before.original_author)
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
  // Of what may change, an SOP's expert alone is searched for.
  const found = changed.filter(
    ({ before, document }) =>
      document['@type'] === 'ExpertSOP' &&
      before.document['@type'] === 'ExpertSOP' &&
      document.source.expert_id !== before.document.source.expert_id,
  )
  await renameWords(
    tx,
    found.map(({ id, document, before: { novelty } }) => ({
      id,
      novelty,
      search: searchVector(textsOf({ ...document, id })),
    })),
  )
  return changed.length
}

/** Another text is judged anew by the database's own rule; this one says the same but for a name, so its novelty stays. */
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

/** The front matter of skills, in their text too; what it says otherwise stays as its author wrote it. */
async function renameSkills(tx: Transaction, ids: readonly string[], to: Renaming): Promise<number> {
  const skills = await queryWithin<SkillRow>(
    tx,
    'lock-naming-skills',
    `SELECT id, document, front_matter, coalesce((SELECT json_agg(json_build_object('path', path, 'content', content) ORDER BY path)
       FROM skill_files f WHERE f.skill_id = s.id), '[]') AS files
     FROM skills s WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`,
    [ids],
  )
  let n = 0
  for (const { id, document, front_matter, files } of skills) {
    const { author } = front_matter
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

/**
 * Traces in others' units, SOPs and skills: attribution, `validated_by`, who wrote or approved a wording. The records are others' and
 * stay, with their scores; a one-way pseudonym takes the name's place. An item is the id of such a record.
 */
export const referencesHolder = (
  db: Database,
  { withdrawAnswers, pseudonymOf }: Pick<KnowledgeParts, 'withdrawAnswers'> & { pseudonymOf: PseudonymOf },
): DataHolder => {
  const renaming = (subject: Subject): Renaming => {
    const { account } = subject
    const names = new Set(namesOf(subject))
    // A person has one pseudonym, however a record names them.
    const of = (name: string) => pseudonymOf(account !== null && name === `user:${account}` ? account : name)
    return (name) => (names.has(name) ? of(name) : name)
  }
  return {
    name: 'knowledge.references',
    store: 'postgresql',
    stage: 'content',
    what: 'references in others’ units, SOPs and skills: replaced by a one-way pseudonym, and the records stay',
    held: 'others’ units, SOPs and skills that name the subject: as expert, first author, validator, or who approved them',
    purpose: 'saying whom knowledge came from, and who found it right',
    kept: 'as long as the record that they stand in',
    tables: [],
    inventory: (subject) =>
      holding(
        db,
        'references-held',
        `SELECT count(*)::int AS n, min(created_at) AS since FROM (
           SELECT u.created_at FROM (${naming}) AS f JOIN units u ON u.id = f.id WHERE u.agent_id <> ALL($2::text[])
           UNION ALL SELECT s.created_at FROM (${skillsNaming}) AS f JOIN skills s ON s.id = f.id WHERE s.agent_id <> ALL($2::text[])) AS g`,
        [namesOf(subject), subject.agents],
      ),
    async plan(scope, tx, now) {
      const subject = subjectOf(scope)
      if (!subject) return { items: [], held: {} }
      await byIndex(tx)
      const values = [namesOf(subject), subject.agents, now]
      const units = await queryWithin<PlannedRow>(tx, 'plan-references', planUnits, values)
      return plannedOf([...units, ...(await queryWithin<PlannedRow>(tx, 'plan-skill-references', planSkills, values))])
    },
    async erase(scope, items, tx) {
      const subject = subjectOf(scope)
      if (!subject) return 0
      await byIndex(tx)
      const to = renaming(subject)
      const isSkill = (id: string) => id.startsWith('kp:skill:')
      const units = await renameUnits(
        tx,
        items.filter((id) => !isSkill(id)),
        to,
      )
      const skills = await renameSkills(tx, items.filter(isSkill), to)
      await withdrawAnswers(tx, ...items)
      return units + skills
    },
    /** By the indexes of names, wherever they stand; and in the documents that were to change. */
    residue(scope, items, now) {
      const subject = subjectOf(scope)
      if (!subject) return Promise.resolve(0)
      const names = namesOf(subject)
      return countLeft(db, async (ask) => {
        await ask(countOf(planUnits), [names, subject.agents, now])
        await ask(countOf(planSkills), [names, subject.agents, now])
        for (const ids of chunked(items)) await ask(countInDocuments, [names, ids])
      })
    },
  }
}
