import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { type Fault, limits } from './rules.ts'

/** A text of the front matter as parsed: YAML escapes may reveal content that the source text hides. */
export interface ReadText {
  /** The top-level key that contains it. */
  key: string
  text: string
  /** Start offset in SKILL.md, in UTF-16 units. */
  place: number
  line: number
  column: number
}
export interface ReadYaml {
  /** Undefined if there are faults. */
  root: YAMLMap | undefined
  /** Records a fault of a node with its line and column, up to a maximum number. */
  fault(node: unknown, message: string): void
  faults: Fault[]
  /** Every text and key. */
  texts: ReadText[]
  /** The text after the front matter. */
  body: string
}

const maxFaults = 50
export const quoted = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** Extracts the text between the first line of three dashes and the next one. Searches no further than the maximum length. */
function cut(text: string): { yaml: string; start: number; body: string } | Fault {
  const opening = /^---[ \t]*\r?\n/.exec(text.slice(0, 200))
  if (!opening)
    return {
      line: 1,
      column: 1,
      message: 'SKILL.md must begin with a line of three dashes, followed by its front matter',
    }
  const start = opening[0].length
  const closing = /^---[ \t]*(?:\r?\n|$(?![\s\S]))/m.exec(text.slice(start, start + limits.frontMatter + 8))
  if (closing) {
    const end = start + closing.index
    return { yaml: text.slice(start, end), start, body: text.slice(end + closing[0].length) }
  }
  return {
    line: 1,
    message:
      text.length > limits.frontMatter
        ? `The front matter must end with a line of three dashes within ${limits.frontMatter.toLocaleString('en')} characters`
        : 'The front matter must end with a line of three dashes',
  }
}

/** `null`, `~` or an empty value. */
export const isEmptyNode = (node: unknown): boolean => node == null || (isScalar(node) && node.value === null)
/** Source text of a scalar: a version of 1.0 must not become 1. */
export const scalarTextOf = (node: unknown): string | undefined =>
  isScalar(node) ? (typeof node.value === 'string' ? node.value : node.source) : undefined

/**
 * Parses the YAML before a Markdown text: a subset of YAML 1.2 without anchors, aliases, tags, merge keys and duplicate keys, limited in
 * length, depth and number of members. Each fault has its line and column in `text`. Pure.
 */
export function readYaml(text: string): ReadYaml {
  const parts = cut(text)
  const faults: Fault[] = []
  const texts: ReadText[] = []
  if (!('yaml' in parts)) return { root: undefined, fault: () => {}, faults: [parts], texts, body: '' }
  const { yaml, start, body } = parts
  const lines = new LineCounter()
  const document = parseDocument(yaml, {
    version: '1.2',
    schema: 'core',
    merge: false,
    // Checked below, where the key is reported; the parser's own check takes quadratic time.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  })
  const placeOf = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset)
    // Add the line of dashes before it.
    return { line: line + 1, column: col }
  }
  const offsetOf = (node: unknown): number =>
    (isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined) ?? 0
  const at = (node: unknown) => placeOf(offsetOf(node))
  const fault = (node: unknown, message: string): void => {
    if (faults.length < maxFaults) faults.push({ ...at(node), message })
  }
  const end = /^\.\.\.(?:\s|$)/m.exec(yaml)
  if (end)
    faults.push({
      ...placeOf(end.index),
      message: 'The front matter must not contain a line of three dots, which ends a YAML document',
    })
  for (const { pos, message } of document.errors.slice(0, maxFaults))
    faults.push({
      ...placeOf(pos[0]),
      message: `${message}${/compact mappings|implicit/i.test(message) ? '; put a value that contains a colon in quotes' : ''}`,
    })
  const result = (root?: YAMLMap): ReadYaml => ({ root, fault, faults, texts, body })
  if (faults.length > 0) return result()

  /** Reports YAML features that front matter must not use, and collects every key and text. */
  let members = 0
  const check = (node: unknown, key: string, depth: number): void => {
    if (isEmptyNode(node) && !isScalar(node)) return
    if (isAlias(node)) fault(node, 'Aliases are not supported. Write out the value')
    if (!isScalar(node) && !isCollection(node)) return
    if (node.anchor !== undefined) fault(node, 'Anchors are not supported')
    if (node.tag !== undefined) fault(node, 'Tags are not supported')
    if (isScalar(node)) checkScalar(node, key)
    else if (depth > limits.kpDepth) fault(node, `is nested deeper than ${limits.kpDepth} levels`)
    else {
      members += node.items.length
      if (members > limits.kpMembers)
        fault(node, `The front matter must have at most ${limits.kpMembers} keys and values`)
      else if (isMap(node)) checkMap(node, key, depth)
      else if (isSeq(node)) for (const item of node.items) check(item, key, depth + 1)
    }
  }
  const checkScalar = (node: Scalar, key: string): void => {
    if (typeof node.value === 'string') {
      texts.push({ key, text: node.value, place: start + offsetOf(node), ...at(node) })
      if (node.value.includes('\0')) fault(node, 'NUL characters are not supported')
    } else if (typeof node.value === 'number' && !Number.isFinite(node.value)) fault(node, 'is not a number in JSON')
  }
  const checkMap = (map: YAMLMap, above: string | undefined, depth: number): void => {
    const names = new Set<string>()
    for (const pair of map.items) {
      const name = isPair(pair) ? scalarTextOf(pair.key) : undefined
      if (name === undefined || name === '') {
        fault(pair.key, 'A key must be a word')
        continue
      }
      if (names.has(name)) fault(pair.key, `${quoted(name)} occurs twice`)
      if (name === '<<') fault(pair.key, 'Merge keys are not supported')
      if (name === '__proto__') fault(pair.key, `${quoted(name)} cannot be used as a key`)
      names.add(name)
      check(pair.key, above ?? name, depth)
      check(pair.value, above ?? name, depth + 1)
    }
  }
  const root: Node | null = document.contents
  if (!isMap(root)) {
    fault(root, 'The front matter must be a list of "key: value" lines with name and description')
    return result()
  }
  checkMap(root, undefined, 0)
  return result(faults.length > 0 ? undefined : root)
}

/** Converts a checked map to plain values. */
export function yamlToJson(map: YAMLMap): Record<string, unknown> {
  const plain = (node: unknown): unknown => {
    if (isMap(node)) return yamlToJson(node)
    if (isSeq(node)) return node.items.map(plain)
    return isScalar(node) ? node.value : null
  }
  return Object.fromEntries(map.items.map(({ key, value }) => [scalarTextOf(key) ?? '', plain(value)]))
}
