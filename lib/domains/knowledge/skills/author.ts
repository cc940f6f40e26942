import { isMap, isScalar, type YAMLMap } from 'yaml'
import { parseSkillMd } from './front-matter.ts'
import { readYaml, scalarTextOf } from './yaml-subset.ts'

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
