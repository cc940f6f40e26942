import { isMap, isScalar, isSeq, type Scalar, type YAMLMap } from 'yaml'
import { type Fault, type FrontMatter, limits } from './rules.ts'
import { isEmptyNode, quoted, type ReadText, readYaml, scalarTextOf, yamlToJson } from './yaml-subset.ts'

export interface ParsedSkillMd {
  /** Undefined if there are faults. */
  frontMatter: FrontMatter | undefined
  faults: Fault[]
  warnings: string[]
  /** The Markdown after the front matter. */
  body: string
  texts: ReadText[]
}

/** Keys of the published format that the registry ignores. */
const others = new Set(['compatibility', 'metadata'])

/**
 * Parses `allowed-tools`: names separated by commas and spaces, except within brackets, as in `Bash(git add:*), Read`. Undefined for
 * unbalanced brackets.
 */
function toolsOf(text: string): string[] | undefined {
  const tools: string[] = []
  let depth = 0
  let tool = ''
  for (const character of text) {
    if (character === '(') depth++
    else if (character === ')') depth--
    if (depth < 0) return undefined
    if (depth === 0 && (character === ',' || /\s/.test(character))) {
      if (tool !== '') tools.push(tool)
      tool = ''
    } else tool += character
  }
  if (tool !== '') tools.push(tool)
  return depth === 0 ? tools : undefined
}

/**
 * The identifier of a skill with this name: the name itself, or derived from a title such as "Code Review". Agents use identifiers as folder
 * names, and letters of other scripts can look like ASCII letters. Undefined for a name that is neither.
 */
function identifierOf(given: string): string | undefined {
  if (/^[a-z0-9-]{1,64}$/.test(given)) return given
  if (!/^[A-Za-z0-9][A-Za-z0-9 _.,&+()'-]*$/.test(given)) return undefined
  return given
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/-$/, '')
}

/**
 * Parses the front matter of a SKILL.md. Each fault has its line and column in `text`. Pure; linear in the bounded length of the front
 * matter.
 */
export function parseSkillMd(text: string): ParsedSkillMd {
  const { root, fault, faults, texts, body } = readYaml(text)
  const warnings: string[] = []
  const result = (frontMatter?: FrontMatter): ParsedSkillMd => ({ frontMatter, faults, warnings, body, texts })
  if (!root) return result()

  const values = new Map<string, { key: Scalar; value: unknown }>()
  for (const { key, value } of root.items) {
    const name = scalarTextOf(key)
    if (name !== undefined && isScalar(key) && !isEmptyNode(value)) values.set(name, { key, value })
  }

  // The specification of agent skills keeps the version and the author in `metadata`.
  const metadata = values.get('metadata')?.value
  const inMetadata = new Map<string, { value: unknown }>()
  if (isMap(metadata))
    for (const { key, value } of metadata.items) {
      const name = scalarTextOf(key)
      if (name !== undefined && isScalar(value) && !isEmptyNode(value)) inMetadata.set(name, { value })
    }

  const singleLine = (
    name: string,
    max: number,
    record: { value: unknown } | undefined = values.get(name),
  ): string | null => {
    if (!record) return null
    const text = scalarTextOf(record.value)?.trim()
    if (text === undefined) fault(record.value, `${name} must be text`)
    else if (text.length > max) fault(record.value, `${name} must have at most ${max} characters`)
    else if (/\p{Cc}/u.test(text)) fault(record.value, `${name} must be one line without control characters`)
    return text === '' ? null : (text ?? null)
  }
  const required = (name: string): Scalar | undefined => {
    const record = values.get(name)
    if (record && scalarTextOf(record.value)?.trim() !== '') return isScalar(record.value) ? record.value : undefined
    fault(record?.value ?? root, `${name} is required`)
    return undefined
  }
  const listOf = (name: string, max: number, split: (text: string) => string[] | undefined): string[] | null => {
    const record = values.get(name)
    if (!record) return null
    const items = isSeq(record.value) ? record.value.items : [record.value]
    const taken = items.flatMap((item) => {
      const text = scalarTextOf(item)
      if (text === undefined)
        fault(item ?? record.value, `${name} must be a list of words, or words separated by commas`)
      const words = text === undefined ? [] : split(text)
      if (words === undefined) fault(item, `${name} has an unmatched bracket`)
      return words ?? []
    })
    if (taken.length > max) fault(record.value, `${name} must have at most ${max} items`)
    return taken
  }

  const nameNode = required('name')
  const given = singleLine('name', limits.name) ?? ''
  const name = identifierOf(given)
  if (nameNode && name === undefined)
    fault(
      nameNode,
      `name must have 1 to ${limits.name} lower-case letters a to z, digits and hyphens, or be a title of ASCII letters`,
    )
  else if (nameNode && name !== given)
    warnings.push(
      `The registry uses the name ${quoted(name ?? '')}. Other readers of skills may reject the name in SKILL.md.`,
    )
  else if (/^-|--|-$/.test(given))
    warnings.push('name begins or ends with a hyphen, or has two in a row. Other readers of skills may reject it.')

  const descriptionNode = required('description')
  const description = (descriptionNode && scalarTextOf(descriptionNode)?.trim()) ?? ''
  if (values.has('description') && !descriptionNode && faults.length === 0)
    fault(values.get('description')?.value, 'description must be text')
  if (description.length > limits.description)
    fault(descriptionNode, `description must have at most ${limits.description.toLocaleString('en')} characters`)
  else if (description.length > limits.usualDescription)
    warnings.push(
      `description has ${description.length.toLocaleString('en')} characters. Other readers of skills accept at most ${limits.usualDescription.toLocaleString('en')}.`,
    )
  if (/[^\P{Cc}\n\r\t]/u.test(description)) fault(descriptionNode, 'description must not contain control characters')

  const version = singleLine('version', limits.tag, values.get('version') ?? inMetadata.get('version'))
  const author = singleLine('author', limits.line, values.get('author') ?? inMetadata.get('author'))
  const license = singleLine('license', limits.line)

  const tags = (listOf('tags', limits.tags, (text) => text.split(',')) ?? []).map((tag) => tag.trim().toLowerCase())
  const tools = listOf('allowed-tools', limits.tools, toolsOf)
  for (const [key, words, max] of [
    ['tags', tags, limits.tag],
    ['allowed-tools', tools ?? [], limits.tool],
  ] as const)
    if (words.some((word) => word.length > max || /\p{Cc}/u.test(word)))
      fault(
        values.get(key)?.value,
        `${key} must contain words of at most ${max} characters, without control characters`,
      )

  const kp = values.get('kp')?.value
  if (kp !== undefined && !isMap(kp)) fault(kp, 'kp must contain keys and values')

  const known = new Set(['name', 'description', 'version', 'author', 'license', 'tags', 'allowed-tools', 'kp'])
  const unknown = root.items.flatMap(({ key }) => {
    const text = scalarTextOf(key)
    return text === undefined || known.has(text) || others.has(text) ? [] : [text]
  })
  for (const key of unknown.slice(0, 10))
    warnings.push(`The registry does not read ${quoted(key)}. It remains in SKILL.md.`)
  if (unknown.length > 10) warnings.push(`The registry does not read ${unknown.length - 10} other keys.`)
  if (body.trim() === '')
    warnings.push('There is no text after the front matter, so the skill contains no instructions.')
  if (faults.length > 0 || name === undefined) return result()
  return result({
    name,
    ...(name !== given && { title: given }),
    description,
    version,
    author,
    license,
    tags: [...new Set(tags)].filter((tag) => tag !== ''),
    allowed_tools: tools && [...new Set(tools)],
    kp: isMap(kp) ? yamlToJson(kp) : null,
  })
}

const memberOf = (map: YAMLMap | undefined, name: string): unknown =>
  map?.items.find(({ key }) => scalarTextOf(key) === name)?.value ?? undefined
const opening = /^---[ \t]*\r?\n/

/**
 * Replaces the author in the front matter of a stored SKILL.md and changes nothing else. `name` must be a plain YAML scalar. Pure.
 * @throws {Error} if the front matter can no longer be parsed
 */
export function withAuthor(document: string, name: string): string {
  const start = opening.exec(document)?.[0].length ?? 0
  const { root } = readYaml(document)
  const metadata = memberOf(root, 'metadata')
  const author = memberOf(root, 'author') ?? (isMap(metadata) ? memberOf(metadata, 'author') : undefined)
  const range = isScalar(author) ? author.range : undefined
  if (!range) throw new Error('The stored skill has no author.')
  const [from, to] = [start + range[0], start + range[1]]
  // The range of a block scalar includes its final line break, which separates it from the next key.
  const changed = `${document.slice(0, from)}${name}${document.slice(from, to).endsWith('\n') ? '\n' : ''}${document.slice(to)}`
  if (parseSkillMd(changed).frontMatter?.author !== name)
    throw new Error('The author of the stored skill cannot be replaced.')
  return changed
}
