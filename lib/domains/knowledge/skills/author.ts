import { isScalar } from 'yaml'
import { parseSkillMd } from './front-matter.ts'
import { readYaml, textOf } from './yaml-subset.ts'

const opening = /^---[ \t]*\r?\n/

/**
 * A stored SKILL.md with another author in its front matter, and the rest as it is. The name is a plain word of YAML. Pure. Throws where
 * the front matter cannot be read any more.
 */
export function withAuthor(document: string, name: string): string {
  const start = opening.exec(document)?.[0].length ?? 0
  const author = readYaml(document).root?.items.find(({ key }) => textOf(key) === 'author')?.value
  const range = isScalar(author) ? author.range : undefined
  if (!range) throw new Error('a stored skill names no author')
  const [from, to] = [start + range[0], start + range[1]]
  // A block of lines ends with its last line break, which parts it from the next key.
  const changed = `${document.slice(0, from)}${name}${document.slice(from, to).endsWith('\n') ? '\n' : ''}${document.slice(to)}`
  if (parseSkillMd(changed).frontMatter?.author !== name)
    throw new Error('the author of a stored skill cannot be replaced')
  return changed
}
