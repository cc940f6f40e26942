// Tests that the documentation names only what exists: files, headings, commands, operations, variables and error codes.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { problems } from '#lib/kernel/problem.ts'
import { memoryInvocation } from '#lib/testing/command-line.ts'
import { blocksOf } from '#lib/testing/guide-walk.ts'
import openapi from '../openapi.json' with { type: 'json' }
import packageJson from '../package.json' with { type: 'json' }
import { buildProgram } from './kp/program.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const isThere = (path: string): boolean => existsSync(join(root, path))
const everyFile = globSync(['*.md', 'bench/*.md', 'docs/*.md', 'docs/adr/*.md'], { cwd: root }).sort()
/** Files about the present state. Decisions and the changelog also name the past. */
const current = everyFile.filter((file) => file !== 'CHANGELOG.md' && !file.startsWith('docs/adr/'))

/** Runs a check on each file. Returns its findings with the names of the files. */
const inEach = (files: readonly string[], faultsOf: (text: string, file: string) => readonly string[]): string[] =>
  files.flatMap((file) => faultsOf(read(file), file).map((fault) => `${file}: ${fault}`))

const withoutBlocks = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '')
/** Code in backticks. A line break in it counts as a space. */
const inlineCode = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '))

/** The anchors of a text, as GitHub derives them from headings. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    const anchor = words.trim().replaceAll(' ', '-')
    let free = anchor
    for (let n = 1; anchors.has(free); n++) free = `${anchor}-${n}`
    anchors.add(free)
  }
  return anchors
}
/** The targets of the relative links of a file that do not exist. */
const brokenLinks = (text: string, file: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^()\s]+)\)/g)].flatMap(([, link = '']) => {
    const [path = '', anchor] = link.split('#')
    if (/^[a-z]+:/.test(link)) return []
    const target = path === '' ? file : normalize(join(dirname(file), path))
    const isBroken =
      !isThere(target) || (anchor !== undefined && !anchorsOf(target === file ? text : read(target)).has(anchor))
    return isBroken ? [link] : []
  })

describe('the documentation', () => {
  it('links only to files and headings that exist', () => {
    expect(inEach(everyFile, brokenLinks)).toEqual([])
  })
  it('brokenLinks finds missing files and headings', () => {
    const text = '# A `b` c, d!\n[1](SECURITY.md#keys) [2](#a-b-c-d) [3](none.md) [4](SECURITY.md#none)\n[5](#none)'
    expect(brokenLinks(text, 'README.md')).toEqual(['none.md', 'SECURITY.md#none', '#none'])
  })

  it('names only files of the repository that exist', () => {
    // A placeholder, the example of a new domain, and files that measurements create.
    const excepted = ['docs/adr/NNNN-title.md', 'prisma/schema/bookmarks.prisma']
    const isMeasured = (code: string) => code.startsWith('bench/results/')
    const folders = /^(?:app|bench|bin|components|docs|e2e|lib|prisma)\/[\w./-]+$/
    const missing = inEach(current, (text) =>
      inlineCode(text).filter(
        (code) => folders.test(code) && !excepted.includes(code) && !isMeasured(code) && !isThere(code),
      ),
    )
    expect(missing).toEqual([])
  })

  it('contains every document that the code names', () => {
    const sources = globSync(
      ['{app,bench,bin,components,e2e,lib}/**/*.{ts,tsx}', 'messages/*/*.json', 'docker-compose.yml'],
      { cwd: root, exclude: (path) => path.endsWith('documentation.test.ts') },
    )
    expect(sources.length).toBeGreaterThan(1_000)
    const missing = inEach(sources, (text) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.\w+/g)].flatMap(([path]) => (isThere(path) ? [] : [path])),
    )
    expect(missing).toEqual([])
  })
})

const program = await buildProgram(memoryInvocation({}).invocation, () => {
  throw new Error('no command runs here')
})

/** Why kp has no such command or option; undefined if it has. */
function faultOf(words: readonly string[]): string | undefined {
  let command: Command = program
  for (const word of words) {
    if (word.startsWith('--')) {
      const [name] = word.split('=')
      const options = [...program.options, ...command.options]
      if (name !== '--help' && !options.some(({ long }) => long === name)) return `${command.name()} ${word}`
      continue
    }
    const next = command.commands.find((one) => one.name() === word)
    if (next) command = next
    else if (word === 'help') return undefined
    else if (command.commands.length > 0) return `${command.name()} ${word}`
  }
  return undefined
}
/** The uses of kp in the shell commands and the inline code of a text, as words. `a|b` are two uses. */
function usesOf(text: string): string[][] {
  const code = [...blocksOf(text, 'sh'), ...inlineCode(text)].join('\n')
  const found = code.matchAll(/(?:^|[(;)] ?|\bin )(?:npm run --silent kp --|kp) ([^\n#;>)]+)/gm)
  return [...found].flatMap(([, line = '']) => {
    const words = line.trim().split(/\s+/)
    const end = words.indexOf('|')
    const used = words.slice(0, end < 0 ? words.length : end).filter((word) => !/[…<"$]/.test(word))
    const choice = used.find((word) => /^\w+(?:\|\w+)+$/.test(word))
    if (choice === undefined) return [used]
    return choice.split('|').map((one) => used.map((word) => (word === choice ? one : word)))
  })
}

describe('commands in the documentation', () => {
  it('exist, with their options', () => {
    expect(inEach(current, (text) => usesOf(text).flatMap((words) => faultOf(words) ?? []))).toEqual([])
  })
  it('faultOf finds unknown commands and options', () => {
    const text =
      '```sh\nx=$(npm run --silent kp -- nothing) kp admin token # `kp a`\n```\n`kp keys turn` `kp audit --never`, `kp admin account add|gone`'
    expect(usesOf(text).map(faultOf)).toEqual([
      'kp nothing',
      undefined,
      'keys turn',
      'audit --never',
      undefined,
      'account gone',
    ])
  })
  it('are npm scripts that exist', () => {
    const missing = inEach(current, (text) =>
      [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].flatMap(([, name = '']) =>
        Object.hasOwn(packageJson.scripts, name) ? [] : [name],
      ),
    )
    expect(missing).toEqual([])
  })
})

describe('operations in the documentation', () => {
  const known = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`.split('/')),
  )
  const isOpen = (segment: string) => /[{<…]/.test(segment)
  /** Compares the segments of a path; a parameter can have any name. */
  function isKnown(operation: string): boolean {
    const named = operation.replace(/\?.*$/, '').split('/')
    return known.some(
      (segments) =>
        segments.length === named.length &&
        segments.every((segment, at) => segment === named[at] || (isOpen(segment) && isOpen(named[at] ?? ''))),
    )
  }
  const namedIn = (text: string): string[] =>
    inlineCode(text).flatMap((code) => /^(?:GET|POST|PUT|PATCH|DELETE) \/\S+/.exec(code)?.[0] ?? [])

  it('exist', () => {
    expect(inEach(current, namedIn).length).toBeGreaterThan(50)
    expect(inEach(current, (text) => namedIn(text).filter((operation) => !isKnown(operation)))).toEqual([])
  })
})

it('docs/api.md lists every error code with its status', () => {
  const rows = [...read('docs/api.md').matchAll(/^\| (\d{3}) \| (`[^|]+) \|/gm)].flatMap(([, status, codes = '']) =>
    codes.split(', ').map((code) => `${code.replaceAll('`', '')} ${status}`),
  )
  const codes = Object.entries(problems).map(([code, [status]]) => `${code} ${status}`)
  // One code has another status for storage than for exports per day.
  expect(rows.sort()).toEqual([...codes, 'quota_exceeded 413'].sort())
})

describe('docs/configuration.md', () => {
  const described = new Set(read('docs/configuration.md').match(/`[A-Z][A-Z_]+`/g))
  const lacks = (name: string): boolean => !described.has(`\`${name}\``)

  it('describes every variable of the application', () => {
    const variables = [...read('lib/config/env.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name = '']) => name)
    expect(variables.length).toBeGreaterThan(40)
    // npm sets it.
    expect(variables.filter((name) => name !== 'INIT_CWD' && lacks(name))).toEqual([])
  })
  it('describes every variable that other documents name', () => {
    const missing = inEach(current, (text) =>
      inlineCode(text).flatMap((code) => (code.match(/\bKP_[A-Z_]*[A-Z](?![A-Z_])/g) ?? []).filter(lacks)),
    )
    // docker-compose.yml uses it.
    expect(missing.filter((fault) => !fault.endsWith(': KP_STORES_PASSWORD'))).toEqual([])
  })
})
