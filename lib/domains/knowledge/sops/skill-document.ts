import type { z } from 'zod'
import type { ExpertSOP } from '../unit.ts'

type Sop = z.output<typeof ExpertSOP>
/** What the document says of where it came from. */
export interface Origin {
  id: string
  version: number
  author: string
}
export interface SkillDocument {
  name: string
  skill_md: string
}

/** A skill's name: 1–64 lower-case letters, digits and single hyphens. */
const longestName = 64
/** A skill's description, in UTF-16 units. */
const longestDescription = 1_024
const longestTag = 64
/** Names of tools in `allowed-tools`: how many, how long each, and how long in all as JSON, so that the front matter is read whole. */
const mostTools = { count: 100, each: 200, all: 16_000 }

const controls = /\p{Cc}/gu
/** A `<`, unless no reader of HTML takes it for the beginning of anything. */
const opensSomething = /<(?![\s=\d-])/g

/**
 * On one line. What parted two words parts them still: a line break becomes a stroke and a control character one that shows, because a
 * space in their place could make an instruction of words that were none.
 */
const flat = (text: string): string =>
  text
    .trim()
    .replace(/\s*[\n\r]\s*/g, ' / ')
    .replace(/\s+/g, ' ')
    .replace(controls, '\uFFFD')
const firstLine = (text: string): string => /\S[^\n\r]*/.exec(text)?.[0] ?? ''

/** Text of a field as a reader of the front matter gets it: for one who takes it as Markdown or HTML it holds no tag either. */
const said = (text: string): string => flat(text).replace(opensSomething, '‹')

/** Text of a field within a line of Markdown: no HTML, no entity, no link or image. */
const inline = (text: string): string =>
  flat(text)
    .replace(/&(?=#?\w{1,40};)/g, '&amp;')
    .replace(opensSomething, '&lt;')
    .replaceAll('](', ']\\(')

/** What begins a block where it stands first in a line: heading, quotation, table, list, fence, rule, definition. */
const beginsBlock =
  /^(?:[#>|]|[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|`{3}|~{3}|(?:=+|-+|(?:[*_-]\s*){3,})$|\[[^\]]*\]:|:?-+:?\s*(?:\||$)|:-)/
/** The first text of a line: it begins no block of its own. */
const lineStart = (text: string): string => {
  const line = inline(text)
  return beginsBlock.test(line) ? line.replace(/^\d*/, '$&\\') : line
}
const paragraph = (text: string): string =>
  text
    .split(/\r\n?|\n/)
    .flatMap((line) => lineStart(line) || [])
    .join('\n')

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')
/**
 * A value as JSON, which YAML reads alike: without `<` before what could be a tag, without what YAML calls unprintable, and without a
 * mark after an escape, whose last letter it would join.
 */
const json = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent)
    .replace(/[\u007f-\u009f\ufffe\uffff]/g, escaped)
    .replace(opensSomething, '\\u003c')
    .replace(/(\\(?:u[0-9a-f]{4}|.))(\p{M}*)/gu, (_, before: string, marks: string) => before + escaped(marks))
const fenced = (value: unknown): string => `\`\`\`json\n${json(value, 2)}\n\`\`\``

/** Shortened between words where it can be, and never within what shows as one character. */
function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text
  const whole = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text.slice(0, longest * 2))]
  let cut = 0
  for (const { index, segment } of whole) {
    if (index + segment.length > longest - 1) break
    cut = index + segment.length
  }
  const space = text.lastIndexOf(' ', cut)
  // A joiner has its right to be only between what it joins.
  return `${text.slice(0, space > longest / 2 ? space : cut).replace(/[\s\p{Cf}]+$/u, '')}…`
}

/** A valid name of a skill, made from the SOP's; from its id where no Latin letter or digit is in it. */
export function skillName({ name }: Pick<Sop, 'name'>, id: string): string {
  const slug = (text: string): string =>
    text
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+/, '')
      .slice(0, longestName)
      .replace(/-+$/, '')
  return slug(name) || slug(`sop-${id.slice('kp:sop:'.length)}`)
}

const distinct = (texts: Iterable<string>): string[] => [...new Set(texts)]
/** A comma would part a tag in two; a space in its place could join words that were apart. */
const tagsOf = ({ domain, metadata }: Sop): string[] =>
  distinct(
    [domain, metadata.task_domain].map((text) => said(text).replace(/,+/g, '-').toLowerCase().normalize('NFC')),
  ).filter((tag) => tag.length <= longestTag)
/** The tools that it suggests, as far as their names can stand in a list of names; the others stand in the text alone. */
function toolsOf(sop: Sop): string[] {
  const names = distinct(
    sop.decision_tree.flatMap((step) => (step.tool_suggestions ?? []).map((tool) => said(tool.name))),
  ).filter((name) => name.length <= mostTools.each && /^[^\s,()]+(?:\([^()]*\))?$/.test(name))
  let length = 0
  return names.slice(0, mostTools.count).filter((name) => {
    length += json(name).length + 1
    return length <= mostTools.all
  })
}
const minutes = (count: number): string => `within ${count} ${count === 1 ? 'minute' : 'minutes'}`

function stepOf(step: Sop['decision_tree'][number]): string {
  const parts = [`## Step ${inline(String(step.step))}.`, paragraph(step.instruction)]
  if (step.criteria !== undefined) parts.push('Criteria:', fenced(step.criteria))
  // No colon follows a field's text, with which it could read as somebody's turn to speak, and more than a space parts two fields.
  const cases = Object.entries(step.conditions ?? {}).map(
    ([condition, { action, sla_min }]) =>
      `- If ${inline(condition)} → ${inline(action)}${sla_min === undefined ? '' : ` (${minutes(sla_min)})`}`,
  )
  if (cases.length > 0) parts.push(cases.join('\n'))
  const tools = (step.tool_suggestions ?? []).map(({ name, when }) => `- ${lineStart(name)} – ${inline(when)}`)
  if (tools.length > 0) parts.push('Tools:', tools.join('\n'))
  return parts.filter((part) => part !== '').join('\n\n')
}

/**
 * An SOP as a SKILL.md: front matter in JSON's notation, then the decision tree as Markdown. Pure. Whatever the fields say, they stay
 * text: nothing in them ends the front matter, begins a heading, a list or code, or is HTML; and what passed the sanitizer as
 * fields passes it as this document, unchanged.
 */
export function skillDocument(sop: Sop, { id, version, author }: Origin): SkillDocument {
  const name = skillName(sop, id)
  const steps = sop.decision_tree.length
  const description = shortened(
    `${said(sop.name)} – a procedure of ${steps} ${steps === 1 ? 'step' : 'steps'} in the domain ${said(sop.domain)}. It begins with → ${said(firstLine(sop.decision_tree[0]?.instruction ?? ''))}`,
    longestDescription,
  )
  const tags = tagsOf(sop)
  const tools = toolsOf(sop)
  const front = [
    ['name', name],
    ['description', description],
    ['version', String(version)],
    ['author', author],
    ['tags', tags],
    ...(tools.length > 0 ? [['allowed-tools', tools] as const] : []),
    ['kp', { source: id, version }],
  ] as const
  const cases = sop.validation?.test_cases ?? []
  const body = [
    `# ${inline(sop.name)}`,
    'Take the steps in their order. Where a step has criteria, check them first; where it has cases, do what the first that applies says.',
    ...sop.decision_tree.map(stepOf),
    ...(cases.length > 0 ? ['## Test cases', fenced(cases)] : []),
  ]
  const head = front.map(([key, value]) => `${key}: ${json(value)}`).join('\n')
  return { name, skill_md: `---\n${head}\n---\n\n${body.join('\n\n')}\n` }
}
