import './runtime.ts'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Idioms that readers could not understand at first reading, with what to write instead. */
const idioms: readonly { pattern: RegExp; instead: string }[] = [
  { pattern: /\bwho(?:m|so)?ever\b/i, instead: 'name the person: the author, the caller, an admin' },
  { pattern: /\bwhat (?:came|comes|became|becomes) of\b/i, instead: 'derived data, the outcome of' },
  { pattern: /\bwhat is left\b/i, instead: 'residue, remaining records' },
  { pattern: /\bat once more\b/i, instead: 'immediately again' },
  { pattern: /\b(?:stands|lies) (?:there|here|on|so)\b/i, instead: 'exists, is stored' },
  {
    pattern: /\b(?:it|that|which|this|what|row|file|message|item|record)s? goes\b(?! on)/i,
    instead: 'is deleted, is sent',
  },
  { pattern: /\bis no (?:more|longer there)\b/i, instead: 'does not exist' },
  { pattern: /\btells (?:so|nothing|whether|whose|what)\b/i, instead: 'returns, reports' },
  { pattern: /\bof (?:its|their) own accord\b/i, instead: 'without a request' },
]

const comment = /^[ \t]*\/\*\*?[\s\S]*?\*\/|^[ \t]*\/\/.*$/gm
const title = /\b(?:it|test|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(['"`])((?:(?!\1).)*)\1/g
/** Files whose subject is language. */
const exceptions = new Set(['bin/check-language.ts', 'bin/check-language.test.ts'])

export interface LanguageFinding {
  line: number
  idiom: string
  instead: string
}

/** Finds the idioms in the comments and test names of a TypeScript file. Lines count from 1. */
export function findIdioms(source: string): LanguageFinding[] {
  const found: LanguageFinding[] = []
  for (const text of [...source.matchAll(comment), ...source.matchAll(title)])
    for (const { pattern, instead } of idioms) {
      // A line break of a docstring may divide an idiom.
      const match = new RegExp(pattern.source.replaceAll(' ', '[\\s*]+'), 'i').exec(text[0])
      if (!match) continue
      const line = source.slice(0, (text.index ?? 0) + match.index).split('\n').length
      found.push({ line, idiom: match[0], instead })
    }
  return found
}

function main(): void {
  const files = execFileSync('git', ['ls-files', '-z', '--', 'app', 'bench', 'bin', 'components', 'e2e', 'lib'])
    .toString()
    .split('\0')
    .filter((file) => /\.tsx?$/.test(file) && !exceptions.has(file))
  let count = 0
  for (const file of files)
    for (const { line, idiom, instead } of findIdioms(readFileSync(file, 'utf8'))) {
      count++
      console.log(`${file}:${line}: "${idiom}": write ${instead}`)
    }
  process.exitCode = count > 0 ? 1 : 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
