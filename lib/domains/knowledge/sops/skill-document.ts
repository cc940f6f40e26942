import type { Sop } from '#lib/domains/knowledge/contract.ts'
import { findInjections } from '#lib/domains/sanitizer/injection.ts'

/** Source of the document, named in its text. */
export interface SopOrigin {
  id: string
  version: number
  author: string
}
export interface SkillDocument {
  name: string
  skill_md: string
}

/** Maximum length of a skill's name: 1–64 lower-case letters, digits and single hyphens. */
const longestName = 64
/** Maximum length of a skill's description, in UTF-16 units. */
const longestDescription = 1_024
const longestTag = 64
/**
 * Limits of tool names in `allowed-tools`: number, length of each, and total length as JSON, so that the front matter stays within its
 * limit.
 */
const maxTools = { count: 100, each: 200, all: 16_000 }

const controls = /\p{Cc}/gu
/** A `<` that an HTML parser could take for the beginning of markup. */
const opensSomething = /<(?![\s=\d-])/g

/**
 * Converts to one line. Separated words stay visibly separated: a line break becomes a slash and a control character becomes a visible one,
 * because a space could turn them into an instruction.
 */
const flat = (text: string): string =>
  text
    .trim()
    .split(/[\n\r]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' / ')
    .replace(/\s+/g, ' ')
    .replace(controls, '\uFFFD')
const firstLine = (text: string): string => /\S[^\n\r]*/.exec(text)?.[0] ?? ''

/** Text of a field in the front matter. Contains no tag, in case a reader interprets it as Markdown or HTML. */
const said = (text: string): string => flat(text).replace(opensSomething, '‹')

/** Text of a field within a line of Markdown: no HTML, entity, link or image. */
const inline = (text: string): string =>
  flat(text)
    .replace(/&(?=#?\w{1,40};)/g, '&amp;')
    .replace(opensSomething, '&lt;')
    .replaceAll('](', ']\\(')

/** Patterns that begin a block at the start of a line: heading, quotation, table, list, fence, rule, definition. */
const beginsBlock =
  /^(?:[#>|]|[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|`{3}|~{3}|(?:=+|-+|(?:[*_-]\s*){3,})$|\[[^\]]*\]:|:?-+:?\s*(?:\||$)|:-)/
/** Text at the start of a line, escaped so that it does not begin a block. */
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
 * JSON that YAML parses identically: without `<` that could begin a tag, without characters that YAML considers unprintable, and without a
 * combining mark after an escape, which it would combine with.
 */
const json = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent)
    .replace(/[\u007f-\u009f\ufffe\uffff]/g, escaped)
    .replace(opensSomething, '\\u003c')
    .replace(/(\\(?:u[0-9a-f]{4}|.))(\p{M}*)/gu, (_, before: string, marks: string) => before + escaped(marks))
const fenced = (value: unknown): string => `\`\`\`json\n${json(value, 2)}\n\`\`\``

/** Truncates between words where possible, and never within a grapheme. */
function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text
  const whole = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text.slice(0, longest * 2))]
  let cut = 0
  for (const { index, segment } of whole) {
    if (index + segment.length > longest - 1) break
    cut = index + segment.length
  }
  const space = text.lastIndexOf(' ', cut)
  // Remove format characters at the end: a joiner is only allowed between the characters that it joins.
  return `${text.slice(0, space > longest / 2 ? space : cut).replace(/(?<![\s\p{Cf}])[\s\p{Cf}]+$/u, '')}…`
}

/** A valid skill name derived from the SOP's name, or from its id if the name has no Latin letter or digit. */
export function skillName({ name }: Pick<Sop, 'name'>, id: string): string {
  const slug = (text: string): string =>
    text
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-/, '')
      .slice(0, longestName)
      .replace(/-$/, '')
  return slug(name) || slug(`sop-${id.slice('kp:sop:'.length)}`)
}

const distinct = (texts: Iterable<string>): string[] => [...new Set(texts)]
/** A comma would split a tag; replacing it with a space could join separate words. */
const tagsOf = ({ domain, metadata }: Sop): string[] =>
  distinct(
    [domain, metadata.task_domain].map((text) => said(text).replace(/,+/g, '-').toLowerCase().normalize('NFC')),
  ).filter((tag) => tag.length <= longestTag)
/** Suggested tools whose names are valid in `allowed-tools`; other names only appear in the text. */
function toolsOf(sop: Sop): string[] {
  const names = distinct(
    sop.decision_tree.flatMap((step) => (step.tool_suggestions ?? []).map((tool) => said(tool.name))),
  ).filter((name) => name.length <= maxTools.each && /^[^\s,()]+(?:\([^()]*\))?$/.test(name))
  let length = 0
  return names.slice(0, maxTools.count).filter((name) => {
    length += json(name).length + 1
    return length <= maxTools.all
  })
}
/** The SOP's name as the heading. Quoted if it would read as a heading of the system's instructions, like `# system: …`. */
function heading(name: string): string {
  const plain = `# ${inline(name)}`
  return findInjections(plain, 'markdown').refused === undefined ? plain : `# “${inline(name)}”`
}
const minutes = (count: number): string => `within ${count} ${count === 1 ? 'minute' : 'minutes'}`

function stepOf(step: Sop['decision_tree'][number]): string {
  const parts = [`## Step ${inline(String(step.step))}.`, paragraph(step.instruction)]
  if (step.criteria !== undefined) parts.push('Criteria:', fenced(step.criteria))
  // Field texts are neither followed by a colon, which would look like a speaker's name, nor joined by a mere space.
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
 * Converts an SOP to a SKILL.md: front matter in JSON notation, then the decision tree as Markdown. Pure. Field contents stay text: they
 * cannot end the front matter, begin a heading, list or code, or become HTML. Fields that passed the sanitizer pass it unchanged in this
 * document.
 */
export function skillDocument(sop: Sop, { id, version, author }: SopOrigin): SkillDocument {
  const name = skillName(sop, id)
  const steps = sop.decision_tree.length
  const description = shortened(
    `${said(sop.name)} – a procedure of ${steps} ${steps === 1 ? 'step' : 'steps'} in the domain ${said(sop.domain)}. It begins with → ${said(firstLine(sop.decision_tree[0]?.instruction ?? ''))}`,
    longestDescription,
  )
  const tags = tagsOf(sop)
  const tools = toolsOf(sop)
  const apiServer = [
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
    heading(sop.name),
    'Take the steps in their order. Where a step has criteria, check them first; where it has cases, do what the first that applies says.',
    ...sop.decision_tree.map(stepOf),
    ...(cases.length > 0 ? ['## Test cases', fenced(cases)] : []),
  ]
  const head = apiServer.map(([key, value]) => `${key}: ${json(value)}`).join('\n')
  return { name, skill_md: `---\n${head}\n---\n\n${body.join('\n\n')}\n` }
}
