import type { SkillRecord, Unit } from './knowledge.ts'

/** One text of a record that a person reads, and may correct. */
export interface TextField {
  /** Its place in the record, dots between. */
  key: string
  label:
    | 'objective'
    | 'step'
    | 'stepSummary'
    | 'outcome'
    | 'domain'
    | 'title'
    | 'description'
    | 'condition'
    | 'instruction'
    | 'skillMd'
    | 'file'
  /** Which step, from 1; the file's path. */
  of?: number | string
  value: string
  isLong: boolean
}
type Texts = Readonly<Record<string, string>>
type Json = Record<string, unknown>

const field = (key: string, label: TextField['label'], value: string | undefined, more: Partial<TextField> = {}) =>
  value === undefined ? [] : [{ key, label, value, isLong: true, ...more }]
const short = { isLong: false }

/** The texts of a unit, in the order in which it is read. What it has no text for is not offered. */
export function unitFields(unit: Unit): TextField[] {
  const domain = field('metadata.task_domain', 'domain', unit.metadata.task_domain, short)
  switch (unit['@type']) {
    case 'ReasoningTrace':
      return [
        ...field('task.objective', 'objective', unit.task.objective),
        ...unit.steps.flatMap((step, n) => [
          ...field(`steps.${n}.content`, 'step', step.content, { of: n + 1 }),
          ...field(`steps.${n}.output_summary`, 'stepSummary', step.output_summary, { of: n + 1 }),
        ]),
        ...field('outcome.result_summary', 'outcome', unit.outcome.result_summary),
        ...domain,
      ]
    case 'ToolCallPattern':
      return [
        ...field('name', 'title', unit.name, short),
        ...field('description', 'description', unit.description),
        ...unit.tool_sequence.flatMap((step, n) =>
          field(`tool_sequence.${n}.condition`, 'condition', step.condition, { of: n + 1 }),
        ),
        ...domain,
      ]
    case 'ExpertSOP':
      return [
        ...field('name', 'title', unit.name, short),
        ...unit.decision_tree.flatMap((step, n) =>
          field(`decision_tree.${n}.instruction`, 'instruction', step.instruction, { of: n + 1 }),
        ),
        ...field('domain', 'domain', unit.domain, short),
      ]
  }
}
export const skillFields = ({ skill_md, files }: Pick<SkillRecord, 'skill_md' | 'files'>): TextField[] => [
  ...field('skill_md', 'skillMd', skill_md),
  ...files.flatMap(({ path, content }) => field(`files.${path}`, 'file', content, { of: path })),
]

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Sets the text at the place, where there is one. */
function put(root: unknown, path: readonly string[], text: string): void {
  const last = path.at(-1)
  let at: unknown = root
  for (const name of path.slice(0, -1)) at = isObject(at) ? at[name] : undefined
  if (last !== undefined && isObject(at) && last in at) at[last] = text
}

/** A merge patch (RFC 7396) that makes the texts say this; lists are sent whole, as such a patch wants them. */
export function unitPatch(unit: Unit, texts: Texts): Json {
  const whole: Json = structuredClone({ ...unit })
  const touched = new Set<string>()
  for (const [key, text] of Object.entries(texts)) {
    const path = key.split('.')
    put(whole, path, text)
    touched.add(path[0] ?? '')
  }
  // Of an object that was touched all members go along; those that are the same change nothing.
  return Object.fromEntries(Object.entries(whole).filter(([name]) => touched.has(name)))
}
/** The body of a skill's correction: `files` gives all of them. */
export function skillPatch({ skill_md, files }: Pick<SkillRecord, 'skill_md' | 'files'>, texts: Texts) {
  const changed = files.map(({ path, content }) => ({ path, content: texts[`files.${path}`] ?? content }))
  return {
    skill_md: texts.skill_md ?? skill_md,
    ...(files.some(({ path }) => `files.${path}` in texts) && { files: changed }),
  }
}

/** What was typed, as far as it differs from what is there; and what has no place any more. */
export function sorted(fields: readonly TextField[], typed: Texts): { changed: Texts; homeless: [string, string][] } {
  const now = new Map(fields.map(({ key, value }) => [key, value]))
  const changed: Record<string, string> = {}
  const homeless: [string, string][] = []
  for (const [key, text] of Object.entries(typed)) {
    const value = now.get(key)
    if (value === undefined) homeless.push([key, text])
    else if (value !== text) changed[key] = text
  }
  return { changed, homeless }
}

/** The version in an ETag: votes move its other part, and are no change of the text. */
export const versionOf = (etag: string): string => /^"(v\d+)/.exec(etag)?.[1] ?? etag
