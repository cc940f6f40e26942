import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const skillFile = 'SKILL.md'

/** A skill as it is sent: the text of its SKILL.md, and the other files by relative path. */
export interface SkillSource {
  skill_md: string
  files: { path: string; content: string }[]
}

/** The text of a file. Undefined for a binary file. */
function textOf(file: string): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
    return text.includes('\0') ? undefined : text
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/**
 * Reads the skill of a folder. A subfolder with its own SKILL.md is another skill. Links, hidden files and binary
 * files are skipped and listed.
 */
export function readSkillFolder(folder: string): {
  skill: SkillSource
  skipped: { source: string; skipped: string }[]
} {
  const files: SkillSource['files'] = []
  const skipped: { source: string; skipped: string }[] = []
  const visit = (below: string) => {
    const entries = readdirSync(join(folder, below), { withFileTypes: true })
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = posix.join(below, entry.name)
      const source = join(folder, path)
      if (path === skillFile) continue
      if (entry.isSymbolicLink()) skipped.push({ source, skipped: 'is a link' })
      else if (entry.name.startsWith('.') || entry.name === 'node_modules')
        skipped.push({ source, skipped: 'is hidden or installed' })
      else if (entry.isDirectory()) {
        if (!existsSync(join(source, skillFile))) visit(path)
      } else {
        const content = entry.isFile() ? textOf(source) : undefined
        if (content === undefined) skipped.push({ source, skipped: 'is not text, and a skill can contain only text' })
        else files.push({ path, content })
      }
    }
  }
  visit('')
  return { skill: { skill_md: readFileSync(join(folder, skillFile), 'utf8'), files }, skipped }
}
