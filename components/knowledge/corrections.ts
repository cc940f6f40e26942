import type { ShownUnit, SkillRecord } from './knowledge.ts'

/** A text of a record that a person can read and correct. */
export interface TextField {
  /** The path of the text in the record, joined by dots. */
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
  /** The number of the step, from 1, or the path of the file. */
  of?: number | string
  value: string
  isLong: boolean
}
type Texts = Readonly<Record<string, string>>
type Json = Record<string, unknown>

const field = (key: string, label: TextField['label'], value: string | undefined, more: Partial<TextField> = {}) =>
  value === undefined ? [] : [{ key, label, value, isLong: true, ...more }]
const short = { isLong: false }

/** The texts of a unit in reading order. Absent texts are not offered. */
export function unitFields(unit: ShownUnit): TextField[] {
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

/** Replaces the text at a path, if the path exists. */
function put(root: unknown, path: readonly string[], text: string): void {
  const last = path.at(-1)
  let at: unknown = root
  for (const name of path.slice(0, -1)) at = isObject(at) ? at[name] : undefined
  if (last !== undefined && isObject(at) && last in at) at[last] = text
}

/** A merge patch (RFC 7396) that sets these texts. Merge patches replace lists as a whole. */
export function unitPatch(unit: ShownUnit, texts: Texts): Json {
  const whole: Json = structuredClone({ ...unit })
  const touched = new Set<string>()
  for (const [key, text] of Object.entries(texts)) {
    const path = key.split('.')
    put(whole, path, text)
    touched.add(path[0] ?? '')
  }
  // The patch includes all members of a changed object; equal members change nothing.
  return Object.fromEntries(Object.entries(whole).filter(([name]) => touched.has(name)))
}
/** The request body that corrects a skill. `files` must contain every file. */
export function skillPatch({ skill_md, files }: Pick<SkillRecord, 'skill_md' | 'files'>, texts: Texts) {
  const changed = files.map(({ path, content }) => ({ path, content: texts[`files.${path}`] ?? content }))
  return {
    skill_md: texts.skill_md ?? skill_md,
    ...(files.some(({ path }) => `files.${path}` in texts) && { files: changed }),
  }
}

/** Splits typed texts into changed ones and those whose place no longer exists in the record. */
export function sortedKeys(
  fields: readonly TextField[],
  typed: Texts,
): { changed: Texts; homeless: [string, string][] } {
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

/** The version in an ETag. The rest of it changes with votes, not with the text. */
export const correctionVersionOf = (etag: string): string => /^"(v\d+)/.exec(etag)?.[1] ?? etag
